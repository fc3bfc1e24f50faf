"""Branches are created, moved, renamed and deleted by the API."""

import asyncio

import pytest

from ..code_world import opened, repository_with_history

B = "/api/v1/repos/ann/app/branches"


@pytest.fixture
async def app(world, ann):
    return await repository_with_history(world, ann)


def tips(world, app):
    repo = opened(world, app["id"])
    return {name.removeprefix("refs/heads/"): str(repo.references[name].target)
            for name in repo.references if name.startswith("refs/heads/")}  # fmt: skip


async def test_a_branch_is_created_at_any_ref(world, ann, app):
    for name, body, expected in [
        ("one", {}, "third"),
        ("two/x", {"old_ref_name": "v1.0"}, "second"),
        ("three", {"old_ref_name": app["first"]}, "first"),
        ("four", {"old_branch_name": "feature/side"}, "side"),
        ("five", {"old_ref_name": "refs/tags/light"}, "first"),
    ]:
        answer = await ann.call("POST", B, {"new_branch_name": name} | body)
        assert answer.status_code == 201, answer.text
        assert (answer.json()["name"], answer.json()["commit"]["id"]) == (name, app[expected])
        assert (answer.json()["user_can_push"], answer.json()["protected"]) == (True, False)
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["before"], event["after"]) == ("refs/heads/five", "0" * 40, app["first"])


async def test_branches_that_cannot_be(world, ann, app):
    for body, status in [
        ({"new_branch_name": "master"}, 409),
        ({"new_branch_name": "master/x"}, 409),
        ({"new_branch_name": "feature"}, 409),
        ({"new_branch_name": ""}, 422),
        ({"new_branch_name": "HEAD"}, 422),
        ({"new_branch_name": "--x"}, 422),
        ({"new_branch_name": "a b"}, 422),
        ({"new_branch_name": "x", "old_ref_name": "none"}, 404),
        ({"new_branch_name": "x", "old_ref_name": "1" * 40}, 404),
        ({"new_branch_name": "x", "old_branch_name": "v1.0"}, 404),
        ({"new_branch_name": "x", "old_branch_name": app["first"]}, 404),
        ({"new_branch_name": "x", "old_ref_name": "master~1"}, 404),
    ]:
        answer = await ann.call("POST", B, body)
        assert answer.status_code == status, (body, answer.text)
    assert len(await world.events("push")) == 4


async def test_a_branch_is_deleted_but_not_the_default_one(world, ann, app):
    tip = tips(world, app)["feature/side"]
    deleted = await ann.call("DELETE", f"{B}/feature/side")
    assert (deleted.status_code, deleted.headers["x-deleted-commit"]) == (204, tip)
    assert (await ann.call("DELETE", f"{B}/feature/side")).status_code == 404
    assert (await ann.call("DELETE", f"{B}/master")).status_code == 403
    assert list(tips(world, app)) == ["master"]
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["after"]) == ("refs/heads/feature/side", "0" * 40)


async def test_a_branch_is_renamed_and_the_default_one_stays_it(world, ann, bob, app):
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    assert (await bob.call("PATCH", f"{B}/feature/side", {"name": "side"})).status_code == 204
    assert (await bob.call("PATCH", f"{B}/master", {"name": "main"})).status_code == 403
    assert (await ann.call("PATCH", f"{B}/master", {"name": "main"})).status_code == 204
    assert tips(world, app) == {"main": app["third"], "side": app["side"]}
    assert (await ann.get("/repos/ann/app")).json()["default_branch"] == "main"
    assert opened(world, app["id"]).references["HEAD"].raw_target == b"refs/heads/main"
    refs = [(event["ref"], event["after"]) for event in await world.events("push")]
    assert ("refs/heads/main", app["third"]) in refs
    assert ("refs/heads/master", "0" * 40) in refs
    for path, body, status in [
        ("main", {"name": "side"}, 422), ("main", {"name": "main"}, 422), ("none", {"name": "x"}, 404),
        ("side", {"name": "a..b"}, 422), ("side", {"name": "main/x"}, 409), ("side", {"name": ""}, 422),
    ]:  # fmt: skip
        answer = await ann.call("PATCH", f"{B}/{path}", body)
        assert answer.status_code == status, (path, body, answer.text)


async def test_a_branch_moves_forward_or_by_force(world, ann, app):
    await ann.call("POST", B, {"new_branch_name": "newest"})
    for body, status in [
        ({"new_commit_id": app["second"]}, 422),
        ({"new_commit_id": app["second"], "old_commit_id": app["first"], "force": True}, 422),
        ({"new_commit_id": "1" * 40}, 404),
        ({"new_commit_id": app["second"], "old_commit_id": app["third"], "force": True}, 204),
        ({"new_commit_id": app["third"]}, 204),
        ({"new_commit_id": app["third"]}, 204),
    ]:
        answer = await ann.call("PUT", f"{B}/master", body)
        assert answer.status_code == status, (body, answer.text)
    assert tips(world, app)["master"] == app["third"]
    assert (await ann.call("PUT", f"{B}/none", {"new_commit_id": app["first"]})).status_code == 404
    moves = [event["forced"] for event in await world.events("push") if event["ref"] == "refs/heads/master"]
    assert moves == [False, True, False]


async def test_who_may_change_branches(world, ann, bob):
    app = await repository_with_history(world, ann)
    requests = [
        ("POST", B, {"new_branch_name": "x"}),
        ("PUT", f"{B}/master", {"new_commit_id": app["first"], "force": True}),
        ("PATCH", f"{B}/master", {"name": "x"}),
        ("DELETE", f"{B}/feature/side", None),
    ]
    before = tips(world, app)
    for person, status in [
        (world.user(0, ""), 401), (bob, 403), (ann.but(restricted_to=[99]), 403),
        (ann.but(scopes=["read:repository"]), 403),
    ]:  # fmt: skip
        for method, path, body in requests:
            assert (await person.call(method, path, body)).status_code == status, (method, path)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    for method, path, body in requests:
        assert (await ann.call(method, path, body)).status_code == 403
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": False, "private": True})
    for method, path, body in requests:
        assert (await bob.call(method, path, body)).status_code == 404
    assert tips(world, app) == before


async def test_of_two_branches_of_one_name_at_once_one_is_created(world, ann, app):
    body = [{"new_branch_name": "race", "old_ref_name": ref} for ref in ("master", "light", "v1.0")]
    answers = await asyncio.gather(*(ann.call("POST", B, one) for one in body))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409]


async def test_an_empty_repository_has_nothing_to_branch_from(ann):
    await ann.create("app")
    assert (await ann.call("POST", B, {"new_branch_name": "x"})).status_code == 404
    assert (await ann.call("POST", "/api/v1/repos/ann/app/tags", {"tag_name": "x"})).status_code == 404
