"""Stopwatches."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from ingot_chassis.clock import now
from ingot_issues.times.store.stopwatches import stopwatch as stopwatch_table

pytestmark = pytest.mark.both_databases

OWN = "//user/stopwatches"


async def started(world, who=1, number=1):
    return await world.call("POST", f"/issues/{number}/stopwatch/start", as_=who)


async def test_a_stopwatch_measures_tracked_time(world):
    await world.open_issue()
    start = await started(world)
    assert (start.status_code, start.content) == (201, b"")
    again = await started(world)
    assert (again.status_code, "stop or discard it first" in again.json()["message"]) == (409, True)
    async with world.db.transaction() as tx:
        await tx.execute(update(stopwatch_table).values(created_at=now() - timedelta(seconds=3725)))
    [running] = (await world.call("GET", OWN)).json()
    assert running | {
        "issue_index": 1,
        "issue_title": "It burns",
        "repo_name": "app",
        "repo_owner_name": "ann",
    } == (running)
    assert running["duration"].startswith("1h2m")
    assert (await world.call("POST", "/issues/1/stopwatch/stop")).status_code == 201
    [time] = (await world.call("GET", "/issues/1/times")).json()
    assert 3725 <= time["time"] < 3800
    assert await world.kinds() == ["start_tracking", "stop_tracking"]
    assert (await world.call("GET", OWN)).json() == []
    late = await world.call("POST", "/issues/1/stopwatch/stop")
    assert (late.status_code, "start one first" in late.json()["message"]) == (409, True)


async def test_a_cancelled_stopwatch_leaves_no_time(world):
    await world.open_issue()
    await started(world)
    assert (await world.call("DELETE", "/issues/1/stopwatch/delete")).status_code == 204
    assert (await world.call("DELETE", "/issues/1/stopwatch/delete")).status_code == 409
    assert (await world.call("GET", "/issues/1/times")).json() == []
    assert await world.kinds() == ["start_tracking", "cancel_tracking"]


async def test_own_stopwatches_are_listed_where_the_caller_may_read(world):
    world.add_library()
    await world.open_issue()
    await world.create("//repos/ann/lib/issues", {"title": "x"}, as_=2)
    await started(world, 2)
    await world.call("POST", "//repos/ann/lib/issues/1/stopwatch/start", as_=2)
    assert [one["repo_name"] for one in (await world.call("GET", OWN, as_=2)).json()] == ["app", "lib"]
    world.add_library(private=True)
    del world.repos.levels[9, 2]
    answer = await world.call("GET", OWN, as_=2)
    assert ([one["repo_name"] for one in answer.json()], answer.headers["x-total-count"]) == (["app"], "1")
    assert (await world.call("GET", OWN, as_=1)).json() == []
    assert (await world.call("GET", OWN, as_=0)).status_code == 401
