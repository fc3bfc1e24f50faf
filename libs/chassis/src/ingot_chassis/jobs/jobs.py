"""Leased jobs: long work as rows that one worker holds at a time.

A worker claims a due row and extends its lease while it works. It finishes the job in the transaction of its
effect. When a worker dies, its lease expires and another worker takes over. If the first worker resumes, the
fence number prevents it from finishing the job. A recurring job schedules itself again.
"""

import asyncio
import os
import socket
from collections import defaultdict
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import msgspec
from sqlalchemy import (
    ColumnElement,
    Integer,
    String,
    Table,
    and_,
    bindparam,
    delete,
    func,
    literal_column,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.database import Database
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import Tx
from ingot_chassis.telemetry import trace_context

LEASE = timedelta(seconds=10)
KEEP_ENDED = timedelta(days=7)
FIRST_RETRY, LONGEST_RETRY = timedelta(seconds=1), timedelta(minutes=10)
LOOK_AHEAD = timedelta(seconds=5)
"""Time for which workers look ahead. They find jobs of other processes by polling after it."""
LONGEST_RETRY_AWAY = timedelta(seconds=5)
"""Longest pause in seconds between retries while a dependency is unavailable."""


class JobState(StrEnum):
    """Values of the column ``state`` of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class JobRow(TypedRow):
    """A claimed job."""

    id: int
    run_at: datetime
    kind: str
    key: str
    payload: bytes
    attempts: int
    fence: int
    progress: str | None
    traceparent: str | None


class DueKindRow(TypedRow):
    """A kind of due jobs. ``since`` is the time at which the oldest of them became due."""

    kind: str
    since: datetime


class NextJobRow(TypedRow):
    """The next job. ``at`` is the time at which a job is due or a lease expires; None without jobs."""

    at: datetime | None


class LeaseLost(Exception):
    """Another worker holds the job now. Effects of this worker must not be recorded."""


class Job(msgspec.Struct):
    """A claimed job. ``attempts`` includes the current attempt. ``fence`` proves the claim.

    ``ended``: ``finish`` is committed.
    """

    id: int
    kind: str
    key: str
    payload: bytes
    attempts: int
    fence: int
    progress: str | None
    traceparent: str | None
    ended: bool = False


class _Statements(NamedTuple):
    """Statements that run for every job."""

    add: PreparedWrite
    next: PreparedQuery[NextJobRow]
    claim: PreparedWrite
    finish: PreparedWrite


class Jobs:
    """The jobs in one service's database."""

    def __init__(self, database: Database, *, owner: str | None = None, lease: timedelta = LEASE) -> None:
        self.database = database
        self.table = database.metadata.tables["job"]
        self.lease = lease
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}"
        self._statements = _statements(self.table)
        self.wakes = defaultdict[str, list[asyncio.Event]](list)
        """Events by kind that are set when a job is committed that is due soon. Workers add theirs."""

    async def add(
        self, tx: Tx, kind: str, key: str | int, payload: msgspec.Struct, *, run_at: datetime | None = None
    ) -> bool:
        """Add a job, unless a job of that kind and key waits or runs.

        An ended job is restarted with this payload. Return whether the job is new or restarted.
        """
        carrier: dict[str, str] = {}
        trace_context.inject(carrier)
        moment = now()
        values = {
            "kind": kind,
            "key": str(key),
            "payload": msgspec.json.encode(payload),
            "run_at": run_at or moment,
            "traceparent": carrier.get("traceparent"),
            "created_at": moment,
        }
        is_new = await self._statements.add.run(tx, **values) == 1
        if is_new:
            self._wake(tx, kind, run_at)
        return is_new

    async def schedule(
        self, tx: Tx, kind: str, key: str | int, payload: msgspec.Struct, at: datetime | None = None
    ) -> None:
        """Schedule a job at a time, or now.

        A waiting job gets this payload and time. If the job is running, nothing changes. Otherwise the job is
        added.
        """
        table = self.table
        waiting = (table.c.kind == kind) & (table.c.key == str(key)) & (table.c.state == JobState.WAITING)
        values = {"run_at": at or now(), "payload": msgspec.json.encode(payload)}
        if (await tx.execute(update(table).where(waiting).values(values))).rowcount == 0:
            await self.add(tx, kind, key, payload, run_at=at)
        else:
            self._wake(tx, kind, at)

    async def seconds_until_due(self, kinds: list[str]) -> float:
        """Return the seconds until a job of ``kinds`` is due, or its lease expires.

        The result is 0 if a job is due now, and at most ``LOOK_AHEAD``.
        """
        moment = now()
        async with self.database.read() as db:
            row = await self._statements.next.first(db, kinds=kinds, until=moment + LOOK_AHEAD)
        if row is None or row.at is None:
            return LOOK_AHEAD.total_seconds()
        return max(0.0, (row.at - moment).total_seconds())

    async def claim(self, kinds: list[str], limit: int = 1) -> list[Job]:
        """Claim up to ``limit`` due jobs: waiting jobs, and running jobs whose lease has expired."""
        async with self.database.transaction() as tx:
            moment = now()  # the lease begins after the wait for the transaction
            until = moment + self.lease
            rows = await self._statements.claim.all(
                tx, JobRow, kinds=kinds, at=moment, most=limit, owner=self.owner, lease_until=until
            )
        return [
            Job(r.id, r.kind, r.key, r.payload, r.attempts, r.fence, r.progress, r.traceparent)
            for r in sorted(rows, key=lambda row: (row.run_at, row.id))
        ]

    async def extend(self, job: Job) -> bool:
        """Extend the lease by another term. Return False if the work has already ended the job.

        Raises LeaseLost.
        """
        async with self.database.transaction() as tx:
            try:
                await self._update_leased(tx, job, {"lease_until": now() + self.lease})
            except LeaseLost:
                # Every claim raises the fence: an unchanged fence means that no other worker has the job.
                same = select(self.table.c.id).where(
                    self.table.c.id == job.id, self.table.c.fence == job.fence
                )
                if (await tx.execute(same)).first() is None:
                    raise
                return False
        return True

    async def finish(self, tx: Tx, job: Job, *, again_at: datetime | None = None) -> None:
        """End the job in ``tx``, together with its effect, or schedule it again for ``again_at``.

        Raises LeaseLost.
        """
        if again_at is not None:
            ended = {"finished_at": now(), "owner": None, "last_error": None}
            again = {"state": JobState.WAITING, "run_at": again_at, "attempts": 0, "progress": None}
            await self._update_leased(tx, job, ended | again)
            self._wake(tx, job.kind, again_at)
        elif not await self._statements.finish.run(tx, job_id=job.id, claim=job.fence, at=now()):
            raise LeaseLost(f"{job.kind} {job.key}")

        def set_ended() -> None:
            job.ended = True

        tx.on_commit(set_ended)

    async def finish_alone(self, job: Job) -> None:
        """End a job without an effect, in one statement. Do nothing if its lease is lost."""
        await self.database.run_alone(
            lambda db: self._statements.finish.run(db, job_id=job.id, claim=job.fence, at=now())
        )

    async def retry(self, job: Job, error: str, *, counts: bool = True) -> None:
        """Requeue the job after a pause of 1 s, which doubles up to 10 min. Raises LeaseLost.

        ``counts`` False: the job did not cause the failure, so the pause is at most 5 s.
        """
        longest = LONGEST_RETRY if counts else LONGEST_RETRY_AWAY
        pause = min(FIRST_RETRY * 2 ** min(job.attempts - 1, 20), longest)
        at = now() + pause
        async with self.database.transaction() as tx:
            await self._update_leased(
                tx, job, {"state": JobState.WAITING, "run_at": at, "last_error": error, "owner": None}
            )
            self._wake(tx, job.kind, at)

    async def fail(self, tx: Tx, job: Job, error: str) -> None:
        """End the job as failed in ``tx``. Raises LeaseLost."""
        await self._update_leased(
            tx, job, {"state": JobState.FAILED, "finished_at": now(), "last_error": error, "owner": None}
        )

    async def forget_ended(self) -> None:
        """Delete jobs that ended more than a week ago, successful or failed."""
        async with self.database.transaction() as tx:
            await tx.execute(delete(self.table).where(self.table.c.finished_at < now() - KEEP_ENDED))

    async def due_since(self) -> dict[str, datetime]:
        """Return the time at which the oldest due job became due, by kind."""
        table = self.table
        statement = (
            select(table.c.kind, func.min(table.c.run_at).label("since"))
            .where(table.c.state == JobState.WAITING, table.c.run_at <= now())
            .group_by(table.c.kind)
        )
        async with self.database.read() as db:
            return {row.kind: row.since for row in await fetch_all(db, statement, DueKindRow)}

    def _wake(self, tx: Tx, kind: str, at: datetime | None) -> None:
        """Wake the workers of this process after the commit, if the job is due before their next poll."""
        if at is None or at <= now() + LOOK_AHEAD:
            for wake in self.wakes.get(kind, ()):
                tx.on_commit(wake.set)

    async def _update_leased(self, tx: Tx, job: Job, values: dict[str, Any]) -> None:
        table = self.table
        updated = await tx.execute(
            update(table)
            .where(table.c.id == job.id, table.c.fence == job.fence, table.c.state == JobState.RUNNING)
            .values(values)
        )
        if updated.rowcount != 1:
            raise LeaseLost(f"{job.kind} {job.key}")


_ADDED = ("kind", "key", "payload", "run_at", "traceparent", "created_at")
_FRESH = {
    "state": JobState.WAITING.value,
    "attempts": 0,
    "progress": None,
    "last_error": None,
    "finished_at": None,
}
"""Columns of a job that was never claimed, except those that differ between jobs."""


def _constant(state: JobState) -> ColumnElement[str]:
    """Return a literal for a statement, because prepared statements take values only by name."""
    return literal_column(f"'{state}'", String)


@cache
def _statements(table: Table) -> _Statements:
    added: dict[str, object] = {name: bindparam(name) for name in _ADDED}
    insertion = postgresql.insert(table).values(added | _FRESH | {"fence": 0})
    renewed = {name: insertion.excluded[name] for name in (*_ADDED, *_FRESH)}
    is_ended = table.c.state.in_([_constant(JobState.DONE), _constant(JobState.FAILED)])
    waits, runs = _constant(JobState.WAITING), _constant(JobState.RUNNING)
    at = bindparam("at", type_=UtcDateTime)
    is_of_kinds = any_of(table.c.kind, "kinds")
    until = bindparam("until", type_=UtcDateTime)
    starts = select(func.min(table.c.run_at).label("at")).where(
        is_of_kinds, table.c.state == waits, table.c.run_at <= until
    )
    expirations = select(func.min(table.c.lease_until).label("at")).where(
        is_of_kinds, table.c.state == runs, table.c.lease_until <= until
    )
    both = union_all(starts, expirations).subquery()
    due = (
        select(table.c.id)
        .where(
            is_of_kinds,
            or_(
                and_(table.c.state == waits, table.c.run_at <= at),
                and_(table.c.state == runs, table.c.lease_until < at),
            ),
        )
        .order_by(table.c.run_at)
        .limit(bindparam("most", type_=Integer))
    )
    # PostgreSQL finds the jobs in a single scan, since it locks them: no other worker gets one of them.
    chosen = due.with_for_update(skip_locked=True).cte("chosen")
    is_leased = and_(
        table.c.id == bindparam("job_id", type_=BigId),
        table.c.fence == bindparam("claim", type_=Integer),
        table.c.state == runs,
    )
    return _Statements(
        add=PreparedWrite(
            insertion.on_conflict_do_update(index_elements=["kind", "key"], set_=renewed, where=is_ended)
        ),
        next=PreparedQuery(select(func.min(both.c.at).label("at")), NextJobRow),
        claim=PreparedWrite(
            update(table)
            .where(table.c.id.in_(select(chosen.c.id)))
            .values(
                state=runs,
                owner=bindparam("owner"),
                lease_until=bindparam("lease_until"),
                attempts=table.c.attempts + 1,
                fence=table.c.fence + 1,
            )
            .returning(*(table.c[name] for name in get_type_hints(JobRow)))
        ),
        finish=PreparedWrite(
            update(table)
            .where(is_leased)
            .values(state=JobState.DONE.value, finished_at=bindparam("at"), owner=None, last_error=None)
        ),
    )
