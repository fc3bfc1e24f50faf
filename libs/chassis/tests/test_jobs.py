"""Leased jobs on real databases."""

import asyncio
import sqlite3
from datetime import timedelta
from functools import partial

import asyncpg
import msgspec
import pytest
from prometheus_client import REGISTRY
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import InsufficientStorage, Unavailable
from ingot_chassis.jobs import jobs as jobs_module
from ingot_chassis.jobs.jobs import Jobs, LeaseLost
from ingot_chassis.jobs.loops import running
from ingot_chassis.jobs.workers import GiveUp, Workers
from ingot_testing.service import count_statements

from .messaging_world import metadata

pytestmark = pytest.mark.both_databases


class Payload(msgspec.Struct):
    text: str = ""


@pytest.fixture
async def database(make_url):
    opened = Database(make_url(), metadata)
    yield opened
    await opened.close()


async def add(jobs, key="k", **more):
    async with jobs.database.transaction() as tx:
        return await jobs.add(tx, "kind", key, Payload(), **more)


async def expire_leases(jobs):
    async with jobs.database.transaction() as tx:
        await tx.execute(update(jobs.table).values(lease_until=now() - timedelta(seconds=1)))


async def row(jobs):
    async with jobs.database.read() as db:
        return (await db.execute(select(jobs.table))).one()


async def test_a_job_is_claimed_by_one_worker_only(database):
    jobs = Jobs(database)
    await add(jobs)
    claims = await asyncio.gather(*(jobs.claim(["kind"]) for _ in range(5)))
    assert sorted(len(claimed) for claimed in claims) == [0, 0, 0, 0, 1]


async def test_a_lease_begins_after_the_wait_for_the_transaction(make_url):
    database = Database(make_url(), metadata, pool=1)
    jobs = Jobs(database)
    await add(jobs)
    async with database.transaction():
        claim = asyncio.create_task(jobs.claim(["kind"]))
        _, waiting = await asyncio.wait([claim], timeout=0.1)
        assert waiting
        end_of_wait = now()
    assert len(await claim) == 1
    assert (await row(jobs)).lease_until >= end_of_wait + jobs.lease
    await database.close()


async def test_a_job_that_waits_or_runs_is_not_added_twice(database):
    jobs = Jobs(database)
    assert [await add(jobs), await add(jobs)] == [True, False]
    [job] = await jobs.claim(["kind"])
    assert not await add(jobs)
    async with database.transaction() as tx:
        await jobs.finish(tx, job)
    assert await add(jobs)


async def test_a_dead_workers_job_goes_to_the_next_and_the_dead_one_cannot_finish_it(database):
    jobs = Jobs(database)
    await add(jobs)
    [dead] = await jobs.claim(["kind"])
    assert await jobs.claim(["kind"]) == []
    await expire_leases(jobs)
    [second_claim] = await jobs.claim(["kind"])
    assert (second_claim.id, second_claim.attempts, second_claim.fence) == (dead.id, 2, dead.fence + 1)
    with pytest.raises(LeaseLost):
        async with database.transaction() as tx:
            await jobs.finish(tx, dead)
    await jobs.finish_alone(dead)
    with pytest.raises(LeaseLost):
        await jobs.extend(dead)
    async with database.transaction() as tx:
        await jobs.finish(tx, second_claim)
    assert (await row(jobs)).state == "done"


async def test_a_job_that_is_not_due_yet_waits(database):
    jobs = Jobs(database)
    await add(jobs, run_at=now() + timedelta(hours=1))
    assert await jobs.claim(["kind"]) == []


async def test_a_job_that_is_due_wakes_workers_when_it_is_committed(database):
    jobs = Jobs(database)
    wake, other = (Workers("counter", jobs, {kind: print}).wake for kind in ("kind", "other"))
    await add(jobs, "later", run_at=now() + timedelta(minutes=1))

    async def fail():
        async with database.transaction() as tx:
            await jobs.add(tx, "kind", "k", Payload())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert not wake.is_set()
    async with database.transaction() as tx:
        await jobs.add(tx, "kind", "k", Payload())
        assert not wake.is_set()
    assert wake.is_set()
    wake.clear()
    await add(jobs)
    assert not wake.is_set()
    assert not other.is_set()


async def test_workers_sleep_until_the_next_job_is_due(database, monkeypatch):
    monkeypatch.setattr(jobs_module, "LOOK_AHEAD", timedelta(minutes=10))
    jobs = Jobs(database)
    assert await jobs.seconds_until_due(["kind"]) == 600
    await add(jobs, "later", run_at=now() + timedelta(minutes=7))
    assert 300 < await jobs.seconds_until_due(["kind"]) <= 420
    assert await jobs.seconds_until_due(["other"]) == 600
    await add(jobs, "now")
    assert await jobs.seconds_until_due(["kind"]) == 0


async def test_workers_look_again_when_a_lease_may_expire(database):
    jobs = Jobs(database, lease=timedelta(seconds=2))
    await add(jobs)
    assert len(await jobs.claim(["kind"])) == 1
    assert 0 < await jobs.seconds_until_due(["kind"]) <= 2


async def test_a_job_that_has_to_run_again_now_wakes_its_workers(database):
    """A sync that was requested during a sync."""
    jobs = Jobs(database)
    wake = Workers("counter", jobs, {"kind": print}).wake
    await add(jobs)
    [job] = await jobs.claim(["kind"])
    wake.clear()
    async with database.transaction() as tx:
        await jobs.finish(tx, job, again_at=now())
    assert wake.is_set()


async def test_a_failing_job_comes_back_later_with_its_error(database):
    jobs = Jobs(database)
    await add(jobs)

    async def fail(_job):
        raise RuntimeError("disk full")

    await Workers("counter", jobs, {"kind": fail}).step()
    ended = await row(jobs)
    assert (ended.state, ended.attempts) == ("waiting", 1)
    assert "disk full" in ended.last_error
    assert ended.run_at > now()


@pytest.mark.parametrize(
    ("error", "longest"),
    [
        (Unavailable("identity does not answer"), 5),
        (InsufficientStorage(), 5),
        (OperationalError("INSERT", None, asyncpg.DiskFullError("could not extend file")), 5),
        (RuntimeError("no such file"), 600),
    ],
)
async def test_a_job_goes_on_soon_after_trouble_that_passes(database, error, longest):
    jobs = Jobs(database)
    await add(jobs)
    async with database.transaction() as tx:
        await tx.execute(update(jobs.table).values(attempts=30))

    async def fail(_job):
        raise error

    await Workers("counter", jobs, {"kind": fail}).step()
    pause = (await row(jobs)).run_at - now()
    assert timedelta(seconds=longest / 2) < pause <= timedelta(seconds=longest)


async def test_jobs_that_ended_long_ago_are_forgotten(database):
    jobs = Jobs(database)
    for key in ("old", "new"):
        await add(jobs, key)
        [job] = await jobs.claim(["kind"])
        async with database.transaction() as tx:
            await jobs.finish(tx, job)
    async with database.transaction() as tx:
        await tx.execute(
            update(jobs.table).where(jobs.table.c.key == "old").values(finished_at=now() - timedelta(days=8))
        )
    await jobs.forget_ended()
    assert (await row(jobs)).key == "new"


async def test_work_that_gives_up_ends_as_failed(database):
    jobs = Jobs(database)
    await add(jobs)

    async def give_up(_job):
        raise GiveUp("no such thing")

    await Workers("counter", jobs, {"kind": give_up}).step()
    assert ((await row(jobs)).state, (await row(jobs)).last_error) == ("failed", "no such thing")


@pytest.mark.parametrize("error", [RuntimeError("no such file"), GiveUp("no such thing")])
async def test_a_worker_goes_on_when_the_end_of_a_job_cannot_be_recorded(database, error):
    class UnwritableJobs(Jobs):
        async def retry(self, *_args, **_options):
            raise OperationalError("UPDATE", None, sqlite3.OperationalError("database or disk is full"))

        fail = retry

    jobs = UnwritableJobs(database)
    await add(jobs, "a")
    await add(jobs, "b")

    async def fail(_job):
        raise error

    with capture_logs() as lines:
        assert await Workers("counter", jobs, {"kind": fail}).step() == 2
    unrecorded = [(line["key"], line["error"]) for line in lines if "not recorded" in line["event"]]
    assert [key for key, _ in unrecorded] == ["a", "b"]
    assert all("disk is full" in text and "\n" not in text for _, text in unrecorded)
    await expire_leases(jobs)
    assert len(await Jobs(database).claim(["kind"], 2)) == 2


async def test_a_stopped_job_whose_end_cannot_be_recorded_is_still_stopped(database):
    class UnwritableJobs(Jobs):
        async def retry(self, *_args, **_options):
            raise OperationalError("UPDATE", None, sqlite3.OperationalError("database or disk is full"))

    jobs, started = UnwritableJobs(database), asyncio.Event()
    await add(jobs)

    async def hang(_job):
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Workers("counter", jobs, {"kind": hang}).step())
    await asyncio.wait_for(started.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_worker_claims_as_many_jobs_as_it_may_run_at_once(database):
    claims, at_once, ended, all_ended = [], 0, 0, asyncio.Event()

    class WatchedJobs(Jobs):
        async def claim(self, kinds, limit=1):
            claims.append(limit)
            return await super().claim(kinds, limit)

    jobs = WatchedJobs(database)
    for key in range(7):
        await add(jobs, key)

    async def work(_job):
        nonlocal at_once, ended
        at_once += 1
        assert at_once <= 3
        await asyncio.sleep(0)
        at_once -= 1
        ended += 1
        if ended == 7:
            all_ended.set()

    async with running(Workers("counter", jobs, {"kind": work}, concurrency=3).loops()[:1]):
        await asyncio.wait_for(all_ended.wait(), 20)
    assert claims[0] == 3
    assert max(claims) == 3


async def test_a_worker_with_room_left_waits_for_news_after_a_claim(database, monkeypatch):
    monkeypatch.setattr(jobs_module, "LOOK_AHEAD", timedelta(minutes=10))
    claims, first_look, works = [], asyncio.Event(), asyncio.Queue()

    class WatchedJobs(Jobs):
        async def seconds_until_due(self, kinds):
            seconds = await super().seconds_until_due(kinds)
            first_look.set()
            return seconds

        async def claim(self, kinds, limit=1):
            claimed = await super().claim(kinds, limit)
            claims.append(len(claimed))
            return claimed

    jobs = WatchedJobs(database)

    async def work(job):
        works.put_nowait(job.key)

    counter = Workers("counter", jobs, {"kind": work}, concurrency=3)
    async with running(counter.loops()[:1]):
        await asyncio.wait_for(first_look.wait(), 30)
        for key in ("first", "second", "third"):
            await add(jobs, key)
            assert await asyncio.wait_for(works.get(), 30) == key
    assert claims == [1, 1, 1]


async def test_a_job_without_an_effect_is_ended_by_one_statement(database):
    jobs = Jobs(database)
    await add(jobs)

    async def work(_job):
        statements.clear()

    with count_statements(database) as statements:
        assert await Workers("counter", jobs, {"kind": work}).step() == 1
    assert [statement.split()[0] for statement, _ in statements] == ["UPDATE", "WITH"]
    assert (await row(jobs)).state == "done"


async def test_cron_like_work_schedules_itself_again(database):
    jobs = Jobs(database)
    await add(jobs)

    async def tick(job):
        async with database.transaction() as tx:
            await jobs.finish(tx, job, again_at=now() + timedelta(hours=1))

    assert await Workers("counter", jobs, {"kind": tick}).step() == 1
    assert ((await row(jobs)).state, (await row(jobs)).attempts) == ("waiting", 0)


async def test_a_job_that_waits_is_scheduled_with_what_is_known_now(database):
    jobs = Jobs(database)
    wake = Workers("counter", jobs, {"kind": print}).wake
    for at in (None, now()):
        await add(jobs, run_at=now() + timedelta(hours=1))
        async with database.transaction() as tx:
            await jobs.schedule(tx, "kind", "k", Payload("of whom came later"), at)
        assert wake.is_set()
        wake.clear()
    [job] = await jobs.claim(["kind"])
    assert msgspec.json.decode(job.payload, type=Payload).text == "of whom came later"
    async with database.transaction() as tx:
        await jobs.schedule(tx, "kind", "other", Payload(), now() + timedelta(hours=1))
    assert await jobs.claim(["kind"]) == []


async def test_a_heartbeat_that_fails_once_does_not_lose_the_lease(database):
    class FailingJobs(Jobs):
        failures = 1

        async def extend(self, job):
            if self.failures:
                self.failures -= 1
                raise OSError("the network blinked")
            extended.set()
            return await super().extend(job)

    jobs, extended = FailingJobs(database, lease=timedelta(seconds=0.6)), asyncio.Event()
    await add(jobs)
    runs = []

    async def work(job):
        runs.append(job.attempts)
        await extended.wait()

    assert await Workers("counter", jobs, {"kind": work}).step() == 1
    assert runs == [1]


async def test_a_heartbeat_after_the_work_ended_its_job_does_not_stop_the_worker(database):
    class SlowJobs(Jobs):
        async def extend(self, job):
            await ended.wait()
            try:
                return await super().extend(job)
            finally:
                extended.set()

    jobs, ended, extended = SlowJobs(database, lease=timedelta(seconds=0.3)), asyncio.Event(), asyncio.Event()
    await add(jobs)
    steps = []

    async def work(job):
        async with database.transaction() as tx:
            await jobs.finish(tx, job)
        ended.set()
        await extended.wait()
        await asyncio.sleep(0)
        steps.append("after the end")

    assert await Workers("counter", jobs, {"kind": work}).step() == 1
    assert steps == ["after the end"]


async def test_the_end_of_a_job_counts_when_it_is_committed(database):
    jobs = Jobs(database)
    await add(jobs)
    [job] = await jobs.claim(["kind"])

    async def finish(*, is_undone):
        async with database.transaction() as tx:
            await jobs.finish(tx, job)
            assert not job.ended
            if is_undone:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        await finish(is_undone=True)
    assert not job.ended
    await finish(is_undone=False)
    assert job.ended


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_worker_looks_for_jobs_once_while_they_follow_one_another(database):
    jobs, looks, last = Jobs(database), [], asyncio.Event()
    for key in ("first", "second", "third"):
        await add(jobs, key)

    async def work(job):
        async with database.transaction() as tx:
            await jobs.finish(tx, job)
        looks.append([statement for statement, _ in statements if statement.startswith("SELECT")])
        if len(looks) == 3:
            last.set()

    with count_statements(database) as statements:
        async with running(Workers("counter", jobs, {"kind": work}, concurrency=1).loops()[:1]):
            await asyncio.wait_for(last.wait(), 30)
    assert [len(selects) for selects in looks] == [1, 1, 1]


async def test_a_worker_that_lost_its_lease_is_stopped(database):
    jobs = Jobs(database, lease=timedelta(seconds=0.3))
    await add(jobs)
    started, stopped = asyncio.Event(), asyncio.Event()

    async def hang(_job):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    task = asyncio.create_task(Workers("counter", jobs, {"kind": hang}).run())
    await asyncio.wait_for(started.wait(), 5)
    async with database.transaction() as tx:
        await tx.execute(update(jobs.table).values(fence=99))
    await asyncio.wait_for(stopped.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stopped_worker_hands_its_job_back(database):
    jobs = Jobs(database)
    await add(jobs)
    started = asyncio.Event()

    async def hang(_job):
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Workers("counter", jobs, {"kind": hang}).run())
    await asyncio.wait_for(started.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await row(jobs)).state == "waiting"


async def test_the_age_of_the_oldest_job_that_waits_is_measured(database):
    async def never(_job):
        raise AssertionError

    jobs = Jobs(database)
    idle = Workers("counter", jobs, {"kind": never})
    age = partial(
        REGISTRY.get_sample_value, "ingot_jobs_oldest_seconds", {"service": "counter", "kind": "kind"}
    )
    await idle.measure()
    assert age() == 0
    await add(jobs)
    async with database.transaction() as tx:
        await tx.execute(update(jobs.table).values(run_at=now() - timedelta(minutes=5)))
    await idle.measure()
    assert age() >= 300
