"""Pinned issues and pull requests."""

import asyncio

import pytest

pytestmark = pytest.mark.both_databases


async def pinned(world, kind="issues"):
    return [one["number"] for one in (await world.call("GET", f"/{kind}/pinned", as_=0)).json()]


async def test_issues_are_pinned_moved_and_unpinned(world):
    for _ in range(4):
        await world.open_issue()
    for number in (3, 1, 2, 1):
        assert (await world.call("POST", f"/issues/{number}/pin")).status_code == 204
    assert await pinned(world) == [3, 1, 2]
    assert (await world.call("GET", "/issues/1")).json()["pin_order"] == 2
    assert (await world.call("POST", "/issues/4/pin")).status_code == 422
    assert (await world.call("GET", "/new_pin_allowed")).json() == {"issues": False, "pull_requests": True}
    assert (await world.call("PATCH", "/issues/2/pin/1")).status_code == 204
    assert await pinned(world) == [2, 3, 1]
    for number, position in ((4, 1), (2, 4)):
        assert (await world.call("PATCH", f"/issues/{number}/pin/{position}")).status_code == 422
    assert (await world.call("DELETE", "/issues/3/pin")).status_code == 204
    assert await pinned(world) == [2, 1]
    assert (await world.call("GET", "/issues/1")).json()["pin_order"] == 2
    assert await world.kinds(3) == ["pin", "unpin"]


async def test_pull_requests_are_pinned_apart_from_issues(world):
    await world.open_issue()
    await world.propose()
    for number in (1, 2):
        await world.call("POST", f"/issues/{number}/pin")
    assert (await pinned(world), await pinned(world, "pulls")) == ([1], [2])


async def test_pins_at_the_same_time_neither_fail_nor_share_a_place(world):
    for _ in range(5):
        await world.open_issue()
    requests = [world.call("POST", f"/issues/{number}/pin") for number in (1, 2, 3, 4, 5, 1, 2)]
    answers = await asyncio.gather(*requests, world.call("DELETE", "/issues/5"))
    assert {answer.status_code for answer in answers} <= {204, 404, 422}
    listed = (await world.call("GET", "/issues/pinned")).json()
    assert [issue["pin_order"] for issue in listed] == list(range(1, len(listed) + 1))
    assert len(listed) >= 2
