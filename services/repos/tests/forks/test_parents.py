"""A new parent for a repository: who asks, who answers, what is refused, and what it does to its network."""

import asyncio

import pytest

FORK = "/repos/bob/app"


@pytest.fixture
async def cid(world):
    return world.user(3, "cid")


@pytest.fixture
async def network(world, base, ann, bob, cid):
    """Of ann/app, which bob and cid have forked."""
    for person in (bob, cid):
        await fork(world, person, "ann/app")
    return base


async def fork(world, person, of, **body):
    answer = await person.post(f"/repos/{of}/forks", body)
    assert answer.status_code == 202, answer.text
    await world.components.workers.step()
    return answer.json()["id"]


async def reparent(person, new_owner, of="bob/app"):
    return await person.post(f"/repos/{of}/reparent", {"new_owner": new_owner})


async def parent_of(person, name):
    parent = (await person.get(f"/repos/{name}")).json()["parent"]
    return parent["full_name"] if parent else None


async def forks_of(person, name):
    shown = (await person.get(f"/repos/{name}")).json()["forks_count"]
    listed = [row["full_name"] for row in (await person.get(f"/repos/{name}/forks")).json()]
    assert shown == len(listed)
    return sorted(listed)


async def test_a_fork_gets_a_new_parent_when_its_administrator_accepts(world, network, ann, bob, cid):
    answer = await reparent(bob, "cid")
    assert (answer.status_code, answer.json()["parent"]["full_name"]) == (202, "ann/app")
    assert (await reparent(bob, "cid")).status_code == 409
    for person, status in ((bob, 403), (ann, 403)):
        assert (await person.post(f"{FORK}/reparent/accept")).status_code == status
    accepted = await cid.post(f"{FORK}/reparent/accept")
    assert (accepted.status_code, accepted.json()["parent"]["full_name"]) == (202, "cid/app")
    assert await parent_of(bob, "bob/app") == "cid/app"
    assert (await forks_of(ann, "ann/app"), await forks_of(ann, "cid/app")) == (["cid/app"], ["bob/app"])
    assert (await cid.post(f"{FORK}/reparent/accept")).status_code == 404
    edits = [event["repository"] for event in await world.events("repos.repository.edited.v1")]
    assert [(edit["full_name"], edit["parent"]["full_name"]) for edit in edits] == [
        ("cid/app", "ann/app"),
        ("bob/app", "cid/app"),
    ]


async def test_it_is_immediate_for_an_administrator_of_both(world, network, ann, bob, cid):
    await cid.call("PUT", "/api/v1/repos/cid/app/collaborators/bob", {"permission": "admin"})
    answer = await reparent(bob, "cid")
    assert (answer.status_code, answer.json()["parent"]["full_name"]) == (202, "cid/app")
    answer = await reparent(cid.but(admin=True), "ann")
    assert (answer.status_code, answer.json()["parent"]["full_name"]) == (202, "ann/app")


async def test_a_fork_becomes_the_parent_and_takes_the_place_of_the_repository(world, network, ann, bob, cid):
    """The usual case: a fork goes on with the project, and the repository follows it from then on."""
    dora = world.user(4, "dora")
    await fork(world, dora, "bob/app")
    assert (await reparent(bob, "dora")).status_code == 202
    assert (await dora.post(f"{FORK}/reparent/accept")).status_code == 202
    assert (await parent_of(bob, "bob/app"), await parent_of(bob, "dora/app")) == ("dora/app", "ann/app")
    assert await forks_of(ann, "ann/app") == ["cid/app", "dora/app"]
    assert (await reparent(ann, "dora", of="ann/app")).status_code == 202
    assert (await dora.post("/repos/ann/app/reparent/accept")).status_code == 202
    assert (await parent_of(ann, "ann/app"), await parent_of(ann, "dora/app")) == ("dora/app", None)
    assert await forks_of(ann, "dora/app") == ["ann/app", "bob/app"]


@pytest.mark.parametrize(
    ("who", "new_owner", "of", "code"),
    [
        ("bob", "ann", "bob/app", "parent"),
        ("bob", "bob", "bob/app", "unknown"),
        ("bob", "dora", "bob/app", "unknown"),
        ("ann", "eli", "ann/app", "cycle"),
        ("bob", "ann", "bob/other", "unknown"),
    ],
)
async def test_what_cannot_be_a_parent_is_refused(world, network, ann, bob, cid, who, new_owner, of, code):
    dora, eli = world.user(4, "dora"), world.user(5, "eli")
    await dora.create("app")  # the same name, without a common history
    await fork(world, eli, "cid/app")
    await bob.create("other")
    answer = await reparent({"bob": bob, "ann": ann}[who], new_owner, of)
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["field"], error["code"]) == (422, "new_owner", code)
    assert await world.rows("reparent") == []


async def test_an_owner_has_no_repository_with_a_fork_of_it_and_no_two_forks_of_one(
    world, network, ann, bob, cid
):
    dora = world.user(4, "dora")
    await fork(world, dora, "ann/app")
    await fork(world, dora, "bob/app", name="second")
    answer = await reparent(dora, "cid", "dora/second")
    assert answer.status_code == 202
    assert (await cid.post("/repos/dora/second/reparent/reject")).status_code == 200
    answer = await reparent(dora, "ann", "dora/second")
    assert answer.json()["errors"][0]["code"] == "taken"
    answer = await reparent(dora, "dora", "dora/second")
    assert answer.json()["errors"][0]["code"] == "owner"


async def test_of_several_repositories_the_one_of_the_same_name_is_meant(world, network, ann, bob, cid):
    dora = world.user(4, "dora")
    await fork(world, cid, "bob/app", name="two")
    await fork(world, dora, "ann/app", name="three")
    answer = await reparent(dora, "cid", "dora/three")
    assert answer.json()["errors"][0]["code"] == "ambiguous"
    assert (await reparent(bob, "cid", "bob/app")).status_code == 202
    (row,) = await world.rows("reparent")
    assert row.parent_id == (await cid.get("/repos/cid/app")).json()["id"]


async def test_siblings_of_a_deleted_parent_find_each_other(world, network, ann, bob, cid):
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    assert (await reparent(bob, "cid")).status_code == 202
    assert (await cid.post(f"{FORK}/reparent/accept")).status_code == 202
    assert await parent_of(bob, "bob/app") == "cid/app"


async def test_a_parent_that_the_caller_may_not_read_is_as_missing(world, network, ann, bob, cid):
    await cid.call("PATCH", "/api/v1/repos/cid/app", {"private": True})
    hidden = await reparent(bob, "cid")
    dora = world.user(4, "dora")
    assert dora
    missing = await reparent(bob, "dora")
    assert hidden.json() == missing.json() | {
        "message": missing.json()["message"].replace("dora", "cid"),
        "errors": [
            one | {"message": one["message"].replace("dora", "cid")} for one in missing.json()["errors"]
        ],
    }
    assert (hidden.status_code, missing.status_code) == (422, 422)


async def test_a_fork_of_what_is_not_public_is_private(world, network, ann, bob, cid):
    await cid.call("PUT", "/api/v1/repos/cid/app/collaborators/bob", {"permission": "read"})
    assert (await reparent(bob, "cid")).status_code == 202
    await cid.call("PATCH", "/api/v1/repos/cid/app", {"private": True})
    late = await cid.post(f"{FORK}/reparent/accept")
    assert (late.status_code, late.json()["errors"][0]["code"]) == (422, "private")
    assert len(await world.rows("reparent")) == 1
    await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})
    assert (await cid.post(f"{FORK}/reparent/accept")).status_code == 202


@pytest.mark.parametrize("who", ["bob", "cid"])
async def test_either_side_ends_a_request(world, network, ann, bob, cid, who):
    await reparent(bob, "cid")
    assert (await ann.post(f"{FORK}/reparent/reject")).status_code == 403
    answer = await {"bob": bob, "cid": cid}[who].post(f"{FORK}/reparent/reject")
    assert (answer.status_code, answer.json()["parent"]["full_name"]) == (200, "ann/app")
    assert (await cid.post(f"{FORK}/reparent/accept")).status_code == 404
    assert await parent_of(bob, "bob/app") == "ann/app"


async def test_only_administrators_of_the_fork_ask(world, network, ann, bob, cid):
    await bob.call("PUT", "/api/v1/repos/bob/app/collaborators/ann", {"permission": "write"})
    assert (await reparent(ann, "cid")).status_code == 403
    await bob.call("PUT", "/api/v1/repos/bob/app/collaborators/ann", {"permission": "admin"})
    assert (await reparent(ann, "cid")).status_code == 202
    await bob.call("PUT", "/api/v1/repos/bob/app/collaborators/ann", {"permission": "write"})
    assert (await cid.post(f"{FORK}/reparent/accept")).status_code == 404, "the sender lost the right to ask"


async def test_the_administrator_of_the_new_parent_needs_no_access_to_the_fork(world, network, ann, bob, cid):
    await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})
    assert (await cid.get(FORK)).status_code == 404
    assert (await cid.post(f"{FORK}/reparent/accept")).status_code == 404
    await reparent(bob, "cid")
    assert (await ann.post(f"{FORK}/reparent/accept")).status_code == 404
    assert (await cid.post(f"{FORK}/reparent/accept")).status_code == 202


async def test_somebody_who_is_blocked_sends_no_request(world, network, ann, bob, cid):
    world.identity.blocks.add((3, 2))
    assert (await reparent(bob, "cid")).status_code == 403


async def test_a_request_ends_with_its_repositories(world, network, ann, bob, cid):
    await reparent(bob, "cid")
    assert (await cid.call("DELETE", "/api/v1/repos/cid/app")).status_code == 204
    assert await world.rows("reparent") == []
    assert (await bob.post(f"{FORK}/reparent/reject")).status_code == 404


async def test_pull_requests_with_the_former_parent_stay_and_those_with_the_new_one_are_possible(
    world, network, ann, bob, cid
):
    await cid.call("PUT", "/api/v1/repos/cid/app/collaborators/bob", {"permission": "admin"})
    assert (await reparent(bob, "cid")).status_code == 202
    fork_id = (await bob.get(FORK)).json()["id"]
    new_id = (await bob.get("/repos/cid/app")).json()["id"]
    for id_ in (network, new_id):
        body = {"base_branch": "master", "head_repository_id": fork_id, "head_branch": "topic", "number": 1}
        compared = await bob.internal("POST", f"{id_}/compare", body)
        assert (compared.status_code, compared.json()["commits"], compared.json()["mergeable"]) == (
            200,
            1,
            True,
        )
    shown = await bob.get("/repos/cid/app/compare/master...bob:topic")
    assert (shown.status_code, shown.json()["total_commits"]) == (200, 1)
    followed = await bob.post(f"{FORK}/merge-upstream", {"branch": "master"})
    assert followed.status_code == 200, followed.text


async def test_requests_at_the_same_time_make_no_circle(world, network, ann, bob, cid):
    dora, root = world.user(4, "dora"), ann.but(admin=True)
    await fork(world, dora, "ann/app")
    people = ("bob", "cid", "dora")
    answers = await asyncio.gather(
        *(
            reparent(root, new, f"{old}/app")
            for old, new in zip(people, (*people[1:], people[0]), strict=True)
        )
    )
    assert {answer.status_code for answer in answers} <= {202, 422}
    parents = {row.id: row.fork_of for row in await world.rows("repository")}
    for start in parents:
        visited, at = set(), start
        while at is not None:
            assert at not in visited
            visited.add(at)
            at = parents[at]
