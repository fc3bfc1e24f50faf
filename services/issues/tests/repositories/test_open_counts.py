"""Counts of open issues: right, and announced once."""

import asyncio

import pytest

from ..builders import repository

pytestmark = pytest.mark.both_databases


async def test_issues_closed_at_once_are_counted_right(world):
    for n in range(6):
        await world.open_issue(f"number {n}")
    await asyncio.gather(*(world.call("PATCH", f"/issues/{n}", {"state": "closed"}) for n in range(1, 6)))
    assert await world.open_counts() == (1, 0)


async def test_counts_are_announced_once_for_all_changes(world):
    for repository_id in (7, 8):
        world.repos.repositories[repository_id] = repository(repository_id, name=f"r{repository_id}")
        for _ in range(3):
            await world.call("POST", f"//repos/ann/r{repository_id}/issues", {"title": "x"})
    assert [await world.announcer.step() for _ in range(2)] == [2, 0]
    events = await world.payloads("issues.open.counted.v1")
    assert [(event["repository_id"], event["open_issues"]) for event in events] == [(7, 3), (8, 3)]
    await world.call("PATCH", "//repos/ann/r8/issues/2", {"state": "closed"})
    assert await world.announcer.step() == 1
    assert (await world.payloads("issues.open.counted.v1"))[-1]["open_issues"] == 2


async def test_only_one_of_many_processes_announces_a_count(world):
    await world.open_issue()
    assert sorted(await asyncio.gather(*(world.announcer.step() for _ in range(4)))) == [0, 0, 0, 1]
