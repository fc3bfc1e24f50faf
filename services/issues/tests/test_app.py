"""The wiring of issues: what wakes its workers."""

import asyncio
from datetime import timedelta

import pytest

from ingot_chassis.db.migrations import upgrade
from ingot_chassis.events import relay
from ingot_chassis.jobs import jobs
from ingot_chassis.jobs.loops import running
from ingot_issues.migrations import SCRIPTS

from .world import World

LONG = 3600.0
"""Seconds after which workers look for jobs by themselves: no test takes so long."""


def loops(world, *beginnings):
    return [one for one in world.app.state.parts.loops if one[0].startswith(beginnings)]


def wake_of(world):
    """The event that wakes the workers of the app, which were made first."""
    (wake,) = {wakes[0] for wakes in world.components.jobs.wakes.values()}
    return wake


WORK = "issues relay", "issues hears of commits", "issues wakes workers"


@pytest.mark.both_databases
async def test_a_comment_wakes_the_workers_who_notify(world, monkeypatch):
    monkeypatch.setattr(jobs, "LOOK_AHEAD", timedelta(hours=1))
    await world.open_issue(as_=2)
    wake = wake_of(world)
    wake.clear()
    await world.create("/issues/1/comments", {"body": "x"})
    assert wake.is_set()
    async with running(loops(world, "issues workers")), asyncio.timeout(60):
        for number in (2, 3):
            await world.open_issue(as_=2)
            await world.create(f"/issues/{number}/comments", {"body": "x"})
            while len((await world.call("GET", "//notifications", as_=2)).json()) < number:
                await asyncio.sleep(0)  # a read on SQLite runs no other task


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_comment_wakes_the_workers_of_another_process(make_database, own_nats, monkeypatch):
    monkeypatch.setattr(relay, "POLL_SECONDS", LONG)
    url = make_database("issues", lambda url: asyncio.run(upgrade(url, SCRIPTS)))
    world, other = (World(url, nats_url=own_nats.url) for _ in range(2))
    await world.open_issue(as_=2)
    wake = wake_of(other)
    async with (
        running([*world.app.state.parts.signals, *loops(other, *WORK)]),
        asyncio.timeout(60),
    ):
        while not wake.is_set():  # from when on it listens, only the broker knows
            await world.create("/issues/1/comments", {"body": "x"})
            await asyncio.sleep(0.05)
    for one in (world, other):
        await one.app.state.parts.bus.close()
        await one.close()
