"""Locked conversations."""

import pytest

pytestmark = pytest.mark.both_databases


async def test_a_locked_issue_is_for_writers_to_comment_on(world):
    await world.open_issue(as_=3)
    comment = (await world.call("POST", "/issues/1/comments", {"body": "x"}, as_=3)).json()
    for as_, status in ((3, 403), (0, 401), (2, 204), (2, 204)):
        answer = await world.call("PUT", "/issues/1/lock", {"lock_reason": "heat"}, as_=as_)
        assert (answer.status_code, as_) == (status, as_)
    assert (await world.call("GET", "/issues/1", as_=0)).json()["is_locked"] is True
    for as_, status in ((3, 403), (4, 403), (0, 401), (2, 201)):
        for path in ("/issues/1/comments", "/issue/1/comments"):
            assert (await world.call("POST", path, {"body": "y"}, as_=as_)).status_code == status
    edited = await world.call("PATCH", f"/issues/comments/{comment['id']}", {"body": "z"}, as_=3)
    assert edited.status_code == 200
    assert (await world.call("DELETE", "/issues/1/lock", as_=3)).status_code == 403
    assert (await world.call("DELETE", "/issues/1/lock", as_=2)).status_code == 204
    assert (await world.call("POST", "/issues/1/comments", {"body": "y"}, as_=3)).status_code == 201
    actions = await world.actions()
    assert actions == ["opened", "locked", "unlocked"]


async def test_a_lock_needs_no_body_and_an_issue(world):
    await world.open_issue()
    assert (await world.call("PUT", "/issues/9/lock")).status_code == 404
    assert (await world.call("PUT", "/issues/1/lock", {"lock_reason": 5})).status_code == 422
    assert (await world.call("PUT", "/issues/1/lock")).status_code == 204


async def test_pull_requests_are_locked_the_same_way(world):
    await world.propose()
    assert (await world.call("PUT", "/issues/1/lock")).status_code == 204
    assert (await world.call("GET", "/pulls/1")).json()["is_locked"] is True
    assert (await world.payloads("issues.pull.changed.v1"))[-1]["action"] == "locked"
