"""Transfers that wait until the new owner accepts or rejects them: who may, what changes, what ends them."""

import pytest

from ingot_contracts.identity.events import TeamDeleted, UserDeleted
from ingot_repos.repositories.internal import transfers as internal_transfers


@pytest.fixture
async def app(world, ann, bob):
    """ann/app, private, with a file; its id. cid owns acme (9), mia is a member; ann is in neither."""
    world.organization(9, "acme")
    world.user(3, "cid")
    world.user(4, "mia")
    world.user(5, "eve")
    world.identity.join(3, 9, owner=True, teams={50: "owner"})
    world.identity.join(4, 9, teams={51: "write"})
    world.identity.add_team(51, 9, "write")
    return (await ann.create("app", private=True, auto_init=True))["id"]


async def offer(person, new_owner="bob", path="ann/app", **more):
    return await person.post(f"/repos/{path}/transfer", {"new_owner": new_owner, **more})


async def answer(person, word="accept", path="ann/app"):
    return await person.post(f"/repos/{path}/transfer/{word}")


async def test_nothing_changes_until_the_new_owner_accepts(world, ann, bob, app):
    offered = await offer(ann)
    assert (offered.status_code, offered.json()["full_name"]) == (202, "ann/app")
    assert await world.events("edited") == []
    assert world.identity.ownerships[app].owner_id == 1
    assert (await bob.get("/repos/ann/app")).status_code == 404
    accepted = await answer(bob)
    assert (accepted.status_code, accepted.json()["id"], accepted.json()["full_name"]) == (
        202,
        app,
        "bob/app",
    )
    assert accepted.json()["permissions"]["admin"] is True
    assert (await ann.get("/repos/bob/app")).status_code == 404
    assert (world.identity.ownerships[app].owner_id, world.identity.ownerships[app].before) == (2, 1)
    (event,) = await world.events("edited")
    assert (event["previous_full_name"], event["sender"]["login"]) == ("ann/app", "bob")
    assert await world.rows("transfer") == []
    assert (await answer(bob, path="bob/app")).status_code == 404


async def test_who_administers_it_and_who_may_answer_see_that_a_transfer_waits(world, ann, bob, app):
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": False})
    cid, eve = world.user(3, "cid"), world.user(5, "eve")
    cid = cid.but(organizations=world.identity.memberships[3])
    offered = await offer(ann, "acme", team_ids=[])
    waiting = offered.json()["repo_transfer"]
    assert (waiting["doer"]["login"], waiting["recipient"]["login"], waiting["teams"]) == ("ann", "acme", [])
    for person, shown in ((ann, True), (cid, True), (bob, False), (eve, False), (world.user(0, ""), False)):
        repository = (await person.get("/repos/ann/app")).json()
        assert (repository["repo_transfer"] is not None) is shown
    assert (await answer(cid, "reject")).json()["repo_transfer"] is None
    assert (await ann.get("/repos/ann/app")).json()["repo_transfer"] is None


async def test_what_is_rejected_stays(world, ann, bob, app):
    await offer(ann)
    rejected = await answer(bob, "reject")
    assert (rejected.status_code, rejected.json()["full_name"]) == (200, "ann/app")
    assert (await answer(bob)).status_code == 404
    assert (await ann.get("/repos/ann/app")).status_code == 200
    assert await world.rows("transfer") == []
    assert await world.events("edited") == []


ANSWERS = [
    ("anonymous", "bob", 404, 401),
    ("stranger", "bob", 404, 403),
    ("reader", "bob", 403, 403),
    ("giver", "bob", 403, 403),
    ("bob", "bob", 200, 200),
    ("site", "bob", 200, 200),
    ("anonymous", "acme", 404, 401),
    ("stranger", "acme", 404, 403),
    ("reader", "acme", 403, 403),
    ("giver", "acme", 403, 403),
    ("member", "acme", 404, 403),
    ("owner", "acme", 200, 200),
    ("site", "acme", 200, 200),
]
"""The caller, the new owner, and the result: for a private repository, and for a public one."""


@pytest.mark.parametrize("word", ["accept", "reject"])
@pytest.mark.parametrize("private", [True, False])
async def test_who_may_answer(world, ann, bob, app, word, private):
    people = {
        "anonymous": world.user(0, ""),
        "stranger": world.user(5, "eve"),
        "reader": world.user(5, "eve"),
        "giver": ann,
        "bob": bob,
        "member": world.user(4, "mia"),
        "owner": world.user(3, "cid"),
        "site": world.user(6, "root").but(admin=True),
    }
    answers, expectations = {}, {}
    for number, (who, new_owner, hidden, open_) in enumerate(ANSWERS):
        path = f"ann/app{number}"
        await ann.create(f"app{number}", private=private, auto_init=True)
        if who == "reader":
            await ann.call("PUT", f"/api/v1/repos/{path}/collaborators/eve", {"permission": "admin"})
        before = len(await world.rows("transfer"))
        assert (await offer(ann, new_owner, path)).status_code == 202
        expected = hidden if private else open_
        if expected == 200 and word == "accept":
            expected = 202
        if who == "giver" and word == "reject":
            expected = 200
        status = (await answer(people[who], word, path)).status_code
        answers[who, new_owner] = status, len(await world.rows("transfer")) - before
        expectations[who, new_owner] = expected, 0 if expected < 300 else 1
    assert answers == expectations


@pytest.mark.parametrize("admin", [False, True])
async def test_a_restricted_token_answers_nothing(ann, bob, app, admin):
    await offer(ann)
    for word in ("accept", "reject"):
        assert (await answer(bob.but(restricted_to=[app + 1], admin=admin), word)).status_code == 404
        assert (await answer(ann.but(restricted_to=[app], admin=admin), word)).status_code == 403
    assert (await answer(bob)).status_code == 202


async def test_an_organization_gets_it_with_the_teams_that_are_left(world, ann, app):
    cid, mia = world.user(3, "cid"), world.user(4, "mia")
    world.identity.add_team(52, 9)
    assert (await offer(ann, "acme", team_ids=[51])).status_code == 422  # she may not know of it
    world.identity.join(1, 9)
    assert (await offer(ann, "acme", team_ids=[51, 52])).status_code == 202
    del world.identity.teams[52]
    await world.deliver(TeamDeleted(organization_id=9, team_id=52))
    assert (await answer(cid)).status_code == 202
    assert (await world.events("access"))[-1]["teams"] == [51]
    assert (await mia.get("/repos/acme/app")).json()["permissions"]["push"] is True


async def test_a_name_that_the_new_owner_has_is_refused_at_both_steps(ann, bob, app):
    assert (await offer(ann)).status_code == 202
    await bob.create("APP")
    for step in (answer(bob), offer(ann)):
        refused = await step
        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "taken")
    await bob.call("PATCH", "/api/v1/repos/bob/APP", {"name": "other"})
    assert (await answer(bob)).status_code == 202


async def test_another_offer_waits_until_the_giver_takes_the_first_one_back(world, ann, bob, app):
    assert (await offer(ann)).status_code == 202
    for new_owner in ("eve", "bob"):
        refused = await offer(ann, new_owner)
        assert (refused.status_code, "waits for an answer already" in refused.json()["message"]) == (
            409,
            True,
        )
    assert (await ann.get("/repos/ann/app")).json()["repo_transfer"]["recipient"]["login"] == "bob"
    taken_back = await answer(ann, "reject")
    assert (taken_back.status_code, taken_back.json()["repo_transfer"]) == (200, None)
    assert (await answer(bob)).status_code == 404
    assert (await offer(ann, "eve")).status_code == 202
    assert (await answer(world.user(5, "eve"))).json()["full_name"] == "eve/app"


@pytest.mark.parametrize("end", ["rename", "delete", "transfer", "the giver leaves", "the new owner leaves"])
async def test_what_ends_a_transfer(world, ann, bob, app, end):
    path = "ann/app"
    if end == "the giver leaves":
        world.identity.join(1, 9, owner=True)
        path = "acme/app"
        assert (await offer(ann, "acme")).status_code == 202
    assert (await offer(ann, path=path)).status_code == 202
    if end == "rename":
        await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "new"})
    elif end == "delete":
        await ann.call("DELETE", "/api/v1/repos/ann/app")
    elif end == "transfer":
        await offer(world.user(6, "root").but(admin=True), "eve")
    elif end == "the giver leaves":
        world.identity.memberships[1] = {}
    else:
        await world.deliver(UserDeleted(user_id=2, login="bob"))
    assert (await answer(bob, path=path)).status_code == 404
    if end != "the giver leaves":
        assert await world.rows("transfer") == []


async def test_who_may_answer_or_end_a_transfer_is_told_of_it_and_nobody_else(world, ann, bob, app):
    """Also of a private repository, which the new owner does not see."""
    cid, mia = (
        world.user(n, name).but(organizations=world.identity.memberships[n])
        for n, name in ((3, "cid"), (4, "mia"))
    )
    eve = world.user(5, "eve")
    for person in (ann, bob, cid, mia, eve):
        assert (await person.get("/repos/ann/app/transfer")).status_code == 404
    await offer(ann, "acme")
    for person in (ann, cid):
        waiting = (await person.get("/repos/ann/app/transfer")).json()
        assert (waiting["doer"]["login"], waiting["recipient"]["login"]) == ("ann", "acme")
    for person in (bob, mia, eve):
        assert (await person.get("/repos/ann/app/transfer")).status_code == 404
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": False})
    for person, status in ((ann, 200), (cid, 200), (mia, 403), (eve, 403), (world.user(0, ""), 401)):
        assert (await person.get("/repos/ann/app/transfer")).status_code == status


async def offered_to(person):
    answer = await person.call("GET", "/internal/transfers", peer="web")
    assert answer.status_code == 200, answer.text
    return [
        (one["full_name"], one["doer"]["login"], one["recipient"]["login"]) for one in answer.json()["offers"]
    ]


async def test_who_may_answer_finds_what_waits_for_them_until_it_is_answered(world, ann, bob, app):
    cid, mia = (
        world.user(n, name).but(organizations=world.identity.memberships[n])
        for n, name in ((3, "cid"), (4, "mia"))
    )
    others = (ann, mia, world.user(5, "eve"), world.user(6, "root").but(admin=True), world.user(0, ""))
    await ann.create("tool")
    await offer(ann)
    await offer(ann, "acme", "ann/tool")
    assert await offered_to(bob) == [("ann/app", "ann", "bob")]
    assert await offered_to(cid) == [("ann/tool", "ann", "acme")]
    assert [await offered_to(person) for person in others] == [[]] * len(others)
    await answer(ann, "reject")
    await answer(cid, path="ann/tool")
    assert [await offered_to(person) for person in (bob, cid)] == [[], []]
    await offer(ann)
    await answer(bob, "reject")
    assert await offered_to(bob) == []


async def test_a_token_finds_only_what_it_may_read(ann, bob, app):
    await offer(ann)
    for token, count in (
        ({"scopes": ["write:repository"]}, 1),
        ({"scopes": ["read:notification"]}, 0),
        ({"restricted_to": [app]}, 0),
    ):
        assert len(await offered_to(bob.but(**token))) == count


async def test_of_many_offers_the_latest_are_shown_with_their_number(ann, bob, app):
    names = [f"r{number}" for number in range(22)]
    for name in names:
        await ann.create(name)
        await offer(ann, path=f"ann/{name}")
    shown = (await bob.call("GET", "/internal/transfers", peer="web")).json()
    assert [one["full_name"] for one in shown["offers"]] == [f"ann/{name}" for name in names[:1:-1]]
    assert shown["total"] == 22


async def test_nobody_offers_anything_to_who_has_blocked_them(world, ann, bob, app):
    world.identity.blocks |= {(2, 1), (9, 1)}
    for new_owner in ("bob", "acme"):
        refused = await offer(ann, new_owner)
        assert (refused.status_code, refused.json()["message"]) == (403, "the new owner has blocked you")
    assert await offered_to(bob) == []


async def test_a_block_hides_offers_from_before_it_and_only_these(world, ann, bob, app):
    cid = world.user(3, "cid").but(organizations=world.identity.memberships[3])
    await cid.create("gift")
    await offer(cid, path="cid/gift")
    for number in range(21):
        await ann.create(f"r{number}")
        await offer(ann, path=f"ann/r{number}")
    await offer(ann, "acme")
    assert ("cid/gift", "cid", "bob") not in await offered_to(bob)
    world.identity.blocks |= {(2, 1)}
    shown = (await bob.call("GET", "/internal/transfers", peer="web")).json()
    assert ([one["full_name"] for one in shown["offers"]], shown["total"]) == (["cid/gift"], 1)
    assert await offered_to(cid) == [("ann/app", "ann", "acme")]
    world.identity.blocks |= {(9, 1), (2, 3)}
    assert [await offered_to(person) for person in (bob, cid)] == [[], []]


async def test_the_list_is_read_again_so_often_and_shows_no_blocked_sender(world, monkeypatch, ann, bob, app):
    monkeypatch.setattr(internal_transfers, "MOST_OFFERS", 1)
    givers = [world.user(number, f"giver{number}") for number in range(20, 20 + internal_transfers.ROUNDS)]
    await offer(ann)
    for giver in givers:
        await giver.create("gift")
        assert (await offer(giver, path=f"giver{giver.principal.id}/gift")).status_code == 202
        world.identity.blocks.add((2, giver.principal.id))
    assert await offered_to(bob) == []
    world.identity.blocks.discard((2, 20))
    assert [name for name, *_ in await offered_to(bob)] == ["giver20/gift"]
