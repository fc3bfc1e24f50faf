"""Subscribers of an issue."""

import pytest

pytestmark = pytest.mark.both_databases

PATH = "/issues/1/subscriptions"


async def subscribers(world):
    answer = await world.call("GET", PATH, as_=0)
    assert int(answer.headers["x-total-count"]) == len(answer.json())
    return [person["login"] for person in answer.json()]


async def check(world, who):
    answer = (await world.call("GET", f"{PATH}/check", as_=who)).json()
    return answer["subscribed"], answer["ignored"]


async def test_who_takes_part_hears_of_an_issue(world):
    await world.open_issue(as_=3, body="x")
    await world.call("POST", "/issues/1/comments", {"body": "x"}, as_=2)
    await world.call("PATCH", "/issues/1", {"assignees": ["ann"]}, as_=2)
    assert await subscribers(world) == ["ann", "bob", "cat"]
    assert (await check(world, 3), await check(world, 4)) == ((True, False), (False, False))


async def test_people_say_for_themselves_what_they_want(world):
    await world.open_issue(as_=3)
    for method, who, login, status in (
        ("PUT", 1, "ann", 201),
        ("PUT", 1, "Ann", 200),
        ("PUT", 1, "bob", 403),
        ("DELETE", 3, "cat", 201),
        ("DELETE", 3, "cat", 200),
        ("PUT", 0, "ann", 401),
        ("PUT", 1, "nobody", 403),
    ):
        answer = await world.call(method, f"{PATH}/{login}", as_=who)
        assert answer.status_code == status, (method, login)
    assert await subscribers(world) == ["ann"]
    assert await check(world, 3) == (False, True)
    await world.call("POST", "/issues/1/comments", {"body": "x"}, as_=3)
    assert await subscribers(world) == ["ann"]
