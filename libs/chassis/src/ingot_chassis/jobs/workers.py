"""Workers of leased jobs: they claim a due row, extend its lease while they work, and record the outcome."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

import structlog
from prometheus_client import Counter, Gauge

from ingot_chassis.clock import now
from ingot_chassis.db.driver import is_outage
from ingot_chassis.errors import InsufficientStorage, Unavailable
from ingot_chassis.jobs.jobs import Job, Jobs, LeaseLost
from ingot_chassis.jobs.loops import Loop, wait_for
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.telemetry import continue_span

log = structlog.get_logger()

MOMENT = 0.02
"""Seconds between a wake-up or a free slot and the next claim, so one claim covers several jobs."""
MEASURE_EVERY = 15.0

AGE = Gauge("ingot_jobs_oldest_seconds", "How long the oldest job that is due waits", ["service", "kind"])
DONE = Counter("ingot_jobs_total", "Jobs ended", ["service", "kind", "outcome"])


class GiveUp(Exception):
    """An error of work that would fail again. The job ends as failed, with this text."""


Work = Callable[[Job], Awaitable[None]]
"""A function that does a job. It may call ``Jobs.finish`` in its own transaction, else the worker does."""


class Workers:
    """Runs the jobs of ``work`` (kind -> function), at most ``concurrency`` in parallel in this process."""

    def __init__(self, service: str, jobs: Jobs, work: Mapping[str, Work], *, concurrency: int = 4) -> None:
        self._service, self._jobs, self._work = service, jobs, dict(work)
        self._concurrency = concurrency
        self._tasks: set[asyncio.Task[None]] = set()
        self.wake = asyncio.Event()
        for kind in self._work:
            jobs.wakes[kind].append(self.wake)

    def loops(self) -> list[tuple[str, Loop]]:
        return [
            (f"{self._service} workers", self.run),
            (f"{self._service} measures jobs", self._measure),
        ]

    def tasks(self) -> list[PeriodicTask]:
        return [PeriodicTask(f"{self._service}_delete_ended_jobs", CLEANUP, self._jobs.forget_ended)]

    async def run(self) -> None:
        """Claim and work until cancelled. Running jobs are then cancelled and returned to the queue."""
        kinds = list(self._work)
        try:
            expected = False
            while True:
                room = self._concurrency - len(self._tasks)
                self.wake.clear()  # the queries see what was committed until now
                pause = 0.0 if expected else await self._jobs.seconds_until_due(kinds)
                claimed = [] if pause else await self._jobs.claim(kinds, room)
                expected = len(claimed) == room
                for job in claimed:
                    task = asyncio.create_task(self._work_on(job))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                if len(self._tasks) == self._concurrency:
                    await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                elif pause:
                    await wait_for(self.wake, pause)
                await asyncio.sleep(MOMENT)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _measure(self) -> None:
        while True:
            await self.measure()
            await asyncio.sleep(MEASURE_EVERY)

    async def measure(self) -> None:
        """Set the metrics of the age of the oldest waiting job; 0 if no job waits."""
        since = await self._jobs.due_since()
        for kind in self._work:
            age = (now() - since[kind]).total_seconds() if kind in since else 0.0
            AGE.labels(self._service, kind).set(age)

    async def step(self) -> int:
        """Claim and run all jobs that are due now, one after the other. Return their number."""
        count = 0
        while claimed := await self._jobs.claim(list(self._work)):
            await self._work_on(claimed[0])
            count += 1
        return count

    async def _work_on(self, job: Job) -> None:
        heartbeat = asyncio.create_task(self._hold(job, asyncio.current_task()))
        try:
            with continue_span(f"job {job.kind}", job.traceparent):
                await self._work[job.kind](job)
                if not job.ended:
                    await self._jobs.finish_alone(job)
            DONE.labels(self._service, job.kind, "done").inc()
        except LeaseLost:
            log.warning("lease lost", job=job.kind, key=job.key)
        except asyncio.CancelledError:
            with _recording_end(job):
                await self._jobs.retry(job, "interrupted", counts=False)
            raise
        except GiveUp as error:
            DONE.labels(self._service, job.kind, "failed").inc()
            with _recording_end(job):
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
            passes = isinstance(error, Unavailable | InsufficientStorage) or is_outage(error)
            with _recording_end(job):
                await self._jobs.retry(job, repr(error), counts=not passes)
        finally:
            heartbeat.cancel()

    async def _hold(self, job: Job, worker: asyncio.Task[None] | None) -> None:
        """Extend the lease three times per term until the job ends.

        Cancels the work when the lease is lost.
        """
        while True:
            await asyncio.sleep(self._jobs.lease.total_seconds() / 3)
            try:
                if not await self._jobs.extend(job):
                    return
            except LeaseLost:
                if worker is not None:
                    worker.cancel()
                return
            except Exception as error:  # noqa: BLE001 - the term allows two retries, then the lease is lost
                log.warning("lease not extended", job=job.kind, key=job.key, error=repr(error))


@contextmanager
def _recording_end(job: Job) -> Iterator[None]:
    """Log errors in the block, which records a job's outcome.

    After an error the lease expires, and the job is claimed again.
    """
    try:
        yield
    except LeaseLost:
        log.warning("lease lost", job=job.kind, key=job.key)
    except Exception as error:  # noqa: BLE001 - no caller awaits the task, and other jobs continue
        log.warning("end of a job not recorded", job=job.kind, key=job.key, error=repr(error))
