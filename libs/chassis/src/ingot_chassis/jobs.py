"""Leased jobs: long work as rows that one worker holds at a time.

A worker claims a due row, extends its lease while it works, and finishes it in the transaction of the effect.
A worker that dies loses the lease, and the next one takes over; the fence number keeps the dead one, should
it wake up, from finishing what is no longer its own. Cron-like work is a job that schedules itself again.
"""

import asyncio
import os
import socket
import traceback
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
import structlog
from opentelemetry import propagate
from prometheus_client import Counter, Gauge
from sqlalchemy import and_, delete, func, or_, select, update

from ingot_chassis.database import Database, Executor, Tx, insert
from ingot_chassis.loops import Loop, wait_for
from ingot_chassis.tables import now
from ingot_chassis.telemetry import continued_span

log = structlog.get_logger()

LEASE = timedelta(seconds=30)
POLL_SECONDS = 1.0
KEEP_ENDED = timedelta(days=7)
FORGET_EVERY = 3600
MEASURE_EVERY = 15.0
FIRST_RETRY, LONGEST_RETRY = timedelta(seconds=1), timedelta(minutes=10)

AGE = Gauge("ingot_jobs_oldest_seconds", "How long the oldest job that is due waits", ["service", "kind"])
DONE = Counter("ingot_jobs_total", "Jobs ended", ["service", "kind", "outcome"])


class LeaseLost(Exception):
    """Somebody else holds the job now; whatever this worker did must not be recorded."""


class GiveUp(Exception):
    """Raised by work that would fail again: the job ends as failed, with this text."""


class Job(msgspec.Struct, frozen=True):
    """A claimed job. ``attempts`` counts this one; ``fence`` proves the claim."""

    id: int
    kind: str
    key: str
    payload: bytes
    attempts: int
    fence: int
    progress: str | None
    traceparent: str | None


Work = Callable[[Job], Awaitable[None]]
"""Does the job. It ends by ``Jobs.finish`` inside its own transaction; if it does not, the worker finishes it."""


class Jobs:
    """The jobs of one service's database."""

    def __init__(self, database: Database, *, owner: str | None = None, lease: timedelta = LEASE) -> None:
        self.database = database
        self.table = database.metadata.tables["job"]
        self.lease = lease
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}"

    async def add(
        self, tx: Tx, kind: str, key: str | int, payload: msgspec.Struct, *, run_at: datetime | None = None
    ) -> bool:
        """Add a job unless one of that kind and key is there. A finished one of that key is started anew.

        Returns whether there is now a job that was not waiting or running before.
        """
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        values = {
            "kind": kind,
            "key": str(key),
            "payload": msgspec.json.encode(payload),
            "state": "waiting",
            "run_at": run_at or now(),
            "attempts": 0,
            "progress": None,
            "last_error": None,
            "traceparent": carrier.get("traceparent"),
            "created_at": now(),
            "finished_at": None,
        }
        statement = insert(tx, self.table).values(values | {"fence": 0})
        statement = statement.on_conflict_do_update(
            index_elements=["kind", "key"],
            set_=values,
            where=self.table.c.state.in_(("done", "failed")),
        )
        return (await tx.execute(statement)).rowcount == 1

    async def reschedule(self, tx: Tx, kind: str, key: str | int, run_at: datetime) -> bool:
        """Let a waiting job run at another time; False when there is none, or it is running now."""
        table = self.table
        waiting = (table.c.kind == kind) & (table.c.key == str(key)) & (table.c.state == "waiting")
        return (await tx.execute(update(table).where(waiting).values(run_at=run_at))).rowcount == 1

    async def claim(self, kinds: list[str], limit: int = 1) -> list[Job]:
        """Take up to ``limit`` due jobs: waiting ones, and running ones whose worker is dead."""
        table = self.table
        due = or_(
            and_(table.c.state == "waiting", table.c.run_at <= now()),
            and_(table.c.state == "running", table.c.lease_until < now()),
        )
        chosen = select(table).where(table.c.kind.in_(kinds), due).order_by(table.c.run_at).limit(limit)
        async with self.database.read() as db:
            if (await db.execute(chosen.limit(1))).first() is None:
                return []
        async with self.database.transaction() as tx:
            rows = (await tx.execute(chosen.with_for_update(skip_locked=True))).all()
            for row in rows:
                await tx.execute(
                    update(table)
                    .where(table.c.id == row.id)
                    .values(
                        state="running",
                        owner=self.owner,
                        lease_until=now() + self.lease,
                        attempts=row.attempts + 1,
                        fence=row.fence + 1,
                    )
                )
        return [
            Job(r.id, r.kind, r.key, r.payload, r.attempts + 1, r.fence + 1, r.progress, r.traceparent)
            for r in rows
        ]

    async def extend(self, job: Job, progress: str | None = None) -> None:
        """Keep the lease for another term, and note the progress. Raises LeaseLost."""
        values: dict[str, Any] = {"lease_until": now() + self.lease}
        if progress is not None:
            values["progress"] = progress
        async with self.database.transaction() as tx:
            await self._update_held(tx, job, values)

    async def finish(self, tx: Tx, job: Job, *, again_at: datetime | None = None) -> None:
        """End the job in ``tx``, together with its effect; or have it run again at a time. Raises LeaseLost."""
        values: dict[str, Any] = {"state": "done", "finished_at": now(), "owner": None, "last_error": None}
        if again_at is not None:
            values |= {"state": "waiting", "run_at": again_at, "attempts": 0, "progress": None}
        await self._update_held(tx, job, values)

    async def retry(self, job: Job, error: str) -> None:
        """Hand the job back to run later: after 1 s at first, doubling, 10 min at most. Raises LeaseLost."""
        pause = min(FIRST_RETRY * 2 ** min(job.attempts - 1, 20), LONGEST_RETRY)
        async with self.database.transaction() as tx:
            await self._update_held(
                tx, job, {"state": "waiting", "run_at": now() + pause, "last_error": error, "owner": None}
            )

    async def fail(self, tx: Tx, job: Job, error: str) -> None:
        """End the job as failed in ``tx``. Raises LeaseLost."""
        await self._update_held(
            tx, job, {"state": "failed", "finished_at": now(), "last_error": error, "owner": None}
        )

    async def forget_ended(self) -> None:
        """Delete jobs that ended more than a week ago, done or failed."""
        async with self.database.transaction() as tx:
            await tx.execute(delete(self.table).where(self.table.c.finished_at < now() - KEEP_ENDED))

    async def due_since(self) -> dict[str, datetime]:
        """By kind, when the job that waits longest became due."""
        table = self.table
        statement = (
            select(table.c.kind, func.min(table.c.run_at).label("since"))
            .where(table.c.state == "waiting", table.c.run_at <= now())
            .group_by(table.c.kind)
        )
        async with self.database.read() as db:
            return {row.kind: row.since for row in (await db.execute(statement)).all()}

    async def is_held(self, db: Executor, job: Job) -> bool:
        table = self.table
        held = select(table.c.id).where(
            table.c.id == job.id, table.c.fence == job.fence, table.c.state == "running"
        )
        return (await db.execute(held)).first() is not None

    async def _update_held(self, tx: Tx, job: Job, values: dict[str, Any]) -> None:
        table = self.table
        updated = await tx.execute(
            update(table)
            .where(table.c.id == job.id, table.c.fence == job.fence, table.c.state == "running")
            .values(values)
        )
        if updated.rowcount != 1:
            raise LeaseLost(f"{job.kind} {job.key}")


class Workers:
    """Runs the jobs of ``work`` (kind -> function), at most ``concurrency`` at once in this process."""

    def __init__(self, service: str, jobs: Jobs, work: Mapping[str, Work], *, concurrency: int = 4) -> None:
        self._service, self._jobs, self._work = service, jobs, dict(work)
        self._room = asyncio.Semaphore(concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self.wake = asyncio.Event()

    def loops(self) -> list[tuple[str, Loop]]:
        return [
            (f"{self._service} workers", self.run),
            (f"{self._service} forgets jobs", self._forget),
            (f"{self._service} measures jobs", self._measure),
        ]

    async def run(self) -> None:
        """Claim and work until cancelled; running jobs are then cancelled and handed back."""
        try:
            while True:
                await self._room.acquire()
                try:
                    claimed = await self._jobs.claim(list(self._work))
                except BaseException:
                    self._room.release()
                    raise
                if claimed:
                    task = asyncio.create_task(self._work_on(claimed[0]))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                    task.add_done_callback(lambda _: self._room.release())
                else:
                    self._room.release()
                    await wait_for(self.wake, POLL_SECONDS)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _forget(self) -> None:
        while True:
            await self._jobs.forget_ended()
            await asyncio.sleep(FORGET_EVERY)

    async def _measure(self) -> None:
        while True:
            await self.measure()
            await asyncio.sleep(MEASURE_EVERY)

    async def measure(self) -> None:
        """Put the age of the oldest job that waits into the metrics, 0 where none does."""
        since = await self._jobs.due_since()
        for kind in self._work:
            age = (now() - since[kind]).total_seconds() if kind in since else 0.0
            AGE.labels(self._service, kind).set(age)

    async def step(self) -> int:
        """Claim and do everything that is due now, one after the other; how many jobs that were."""
        count = 0
        while claimed := await self._jobs.claim(list(self._work)):
            await self._work_on(claimed[0])
            count += 1
        return count

    async def _work_on(self, job: Job) -> None:
        heartbeat = asyncio.create_task(self._hold(job, asyncio.current_task()))
        try:
            with continued_span(f"job {job.kind}", job.traceparent):
                await self._work[job.kind](job)
                async with self._jobs.database.transaction() as tx:
                    if await self._jobs.is_held(tx, job):
                        await self._jobs.finish(tx, job)
            DONE.labels(self._service, job.kind, "done").inc()
        except LeaseLost:
            log.warning("lease lost", job=job.kind, key=job.key)
        except asyncio.CancelledError:
            await self._hand_back(job, "interrupted")
            raise
        except GiveUp as error:
            DONE.labels(self._service, job.kind, "failed").inc()
            async with self._jobs.database.transaction() as tx:
                await self._jobs.fail(tx, job, str(error))
        except Exception as error:  # noqa: BLE001 - whatever the work raises is this job's failure
            DONE.labels(self._service, job.kind, "retried").inc()
            log.warning(
                "job failed",
                job=job.kind,
                key=job.key,
                error=repr(error),
                where=traceback.format_exc(limit=-1),
            )
            await self._hand_back(job, repr(error))
        finally:
            heartbeat.cancel()

    async def _hand_back(self, job: Job, error: str) -> None:
        try:
            await self._jobs.retry(job, error)
        except LeaseLost:
            log.warning("lease lost", job=job.kind, key=job.key)

    async def _hold(self, job: Job, worker: asyncio.Task[None] | None) -> None:
        """Extend the lease three times per term; stop the worker when it is lost."""
        while True:
            await asyncio.sleep(self._jobs.lease.total_seconds() / 3)
            try:
                await self._jobs.extend(job)
            except LeaseLost:
                if worker is not None:
                    worker.cancel()
                return
            except Exception as error:  # noqa: BLE001 - two more tries fit into the term; then the lease is lost
                log.warning("lease not extended", job=job.kind, key=job.key, error=repr(error))
