"""Jobs as administrators see them, and actions on failed jobs."""

from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Jobs, JobState
from ingot_chassis.jobs.reports import forget_failed, list_jobs, run_now

from .test_jobs import add, database

__all__ = ["database"]
pytestmark = pytest.mark.both_databases


async def jobs_in(database, state):
    return [(job.key, job.attempts, job.error) for job in (await list_jobs(database, state, 10)).jobs]


async def test_jobs_are_told_by_state_and_those_that_are_done_are_not_counted(database):
    jobs = Jobs(database, owner="one")
    for key in ("done", "failed", "running", "retry", "later"):
        await add(jobs, key, run_at=now() + timedelta(hours=key == "later"))
    done, failed, _, retry = await jobs.claim(["kind"], 4)
    async with database.transaction() as tx:
        await jobs.finish(tx, done)
        await jobs.fail(tx, failed, "no such remote")
    await jobs.retry(retry, "no answer")
    reports = await list_jobs(database, JobState.RUNNING, 10)
    assert reports.counts == {"waiting": 2, "running": 1, "failed": 1}
    assert [(job.key, job.owner) for job in reports.jobs] == [("running", "one")]
    assert await jobs_in(database, JobState.FAILED) == [("failed", 1, "no such remote")]
    assert await jobs_in(database, JobState.WAITING) == [("retry", 1, "no answer"), ("later", 0, "")]
    assert len((await list_jobs(database, JobState.WAITING, 1)).jobs) == 1


async def test_a_job_that_waits_for_its_next_try_is_tried_now_and_no_other(database):
    jobs = Jobs(database)
    for key, hours in (("retry", 0), ("later", 1)):
        await add(jobs, key, run_at=now() + timedelta(hours=hours))
    [job] = await jobs.claim(["kind"])
    with pytest.raises(NotFound):
        await run_now(database, job.id)
    await jobs.retry(job, "no answer")
    for report in (await list_jobs(database, JobState.WAITING, 10)).jobs[1:]:
        with pytest.raises(NotFound):
            await run_now(database, report.id)
    assert await jobs.claim(["kind"]) == []
    await run_now(database, job.id)
    assert [(again.key, again.attempts) for again in await jobs.claim(["kind"])] == [("retry", 2)]


async def test_only_a_job_that_failed_for_good_is_forgotten(database):
    jobs = Jobs(database)
    await add(jobs)
    [job] = await jobs.claim(["kind"])
    with pytest.raises(NotFound):
        await forget_failed(database, job.id)
    async with database.transaction() as tx:
        await jobs.fail(tx, job, "no such remote")
    await forget_failed(database, job.id)
    assert (await list_jobs(database, JobState.FAILED, 10)).counts == {}
