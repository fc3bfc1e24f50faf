"""Periodic tasks: repeated by the process, run by an administrator, and shown to the gateway."""

import asyncio
from datetime import timedelta

import pytest

from ingot_chassis.jobs.periodic import PeriodicTask


class Steps:
    """Counts what was done, and lets a test wait for it."""

    def __init__(self) -> None:
        self.count, self.done = 0, asyncio.Event()

    async def step(self) -> None:
        self.count += 1
        self.done.set()


async def test_a_task_is_done_at_the_start_and_then_waits():
    steps = Steps()
    task = PeriodicTask("count", timedelta(hours=1), steps.step)
    assert (task.report().runs, task.report().last_at, task.report().next_at) == (0, None, None)
    running = asyncio.create_task(task.run())
    await steps.done.wait()
    while task.report().next_at is None:
        await asyncio.sleep(0)
    running.cancel()
    report = task.report()
    assert (steps.count, report.name, report.seconds, report.runs) == (1, "count", 3600, 1)
    assert report.next_at - report.last_at >= timedelta(hours=1)


async def test_it_runs_now_on_request_beside_its_own_times():
    steps = Steps()
    task = PeriodicTask("count", timedelta(hours=1), steps.step)
    await task.run_now()
    await task.run_now()
    assert (steps.count, task.report().runs, task.report().next_at) == (2, 2, None)


async def test_a_run_that_fails_is_not_counted():
    async def fail() -> None:
        raise ZeroDivisionError

    task = PeriodicTask("fail", timedelta(hours=1), fail)
    with pytest.raises(ZeroDivisionError):
        await task.run_now()
    assert (task.report().runs, task.report().last_at) == (0, None)
