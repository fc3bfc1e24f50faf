"""Leased jobs: long work as rows that one worker holds at a time.

A worker claims a due row, extends its lease while it works, and finishes it in the transaction of the effect.
A worker that dies loses the lease, and the next one takes over; the fence number keeps the dead one, should
it wake up, from finishing what is no longer its own. Cron-like work is a job that schedules itself again.
"""

import asyncio
import os
import socket
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
LONGEST_RETRY_AWAY = timedelta(seconds=5)
"""While something that the work needs is away: what waits goes on soon after it is back."""


class JobState(StrEnum):
    """As in the column ``state``."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class JobRow(TypedRow):
    """A job that a worker has claimed."""

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
    """``since``: when the job of the kind that waits longest became due."""

    kind: str
    since: datetime


class JobIdRow(TypedRow):
    """A job of which nothing else matters."""

    id: int


class LeaseLost(Exception):
    """Somebody else holds the job now; whatever this worker did must not be recorded."""


class Job(msgspec.Struct):
    """A claimed job. ``attempts`` counts this one; ``fence`` proves the claim; ``ended``: ``finish`` is committed."""

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
    """What is run for every job."""

    add: PreparedWrite
    due: PreparedQuery[JobIdRow]
    claim: PreparedWrite
    finish: PreparedWrite


class Jobs:
    """The jobs of one service's database."""

    def __init__(self, database: Database, *, owner: str | None = None, lease: timedelta = LEASE) -> None:
        self.database = database
        self.table = database.metadata.tables["job"]
        self.lease = lease
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}"
        self._statements = _statements(self.table)
        self.wake: asyncio.Event | None = None
        """Set when a job is committed that is due at once: the ``wake`` of workers of this process."""

    async def add(
        self, tx: Tx, kind: str, key: str | int, payload: msgspec.Struct, *, run_at: datetime | None = None
    ) -> bool:
        """Add a job unless one of that kind and key is there. A finished one of that key is started anew.

        Returns whether there is now a job that was not waiting or running before.
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
        if is_new and run_at is None and self.wake is not None:
            tx.on_commit(self.wake.set)
        return is_new

    async def schedule(
        self, tx: Tx, kind: str, key: str | int, payload: msgspec.Struct, at: datetime | None = None
    ) -> None:
        """Let a job run at that time, or now: the one that waits, with this payload, or a new one unless it is running."""
        table = self.table
        waiting = (table.c.kind == kind) & (table.c.key == str(key)) & (table.c.state == JobState.WAITING)
        values = {"run_at": at or now(), "payload": msgspec.json.encode(payload)}
        if (await tx.execute(update(table).where(waiting).values(values))).rowcount == 0:
            await self.add(tx, kind, key, payload, run_at=at)
        elif at is None and self.wake is not None:
            tx.on_commit(self.wake.set)

    async def claim(self, kinds: list[str], limit: int = 1, *, expected: bool = False) -> list[Job]:
        """Take up to ``limit`` due jobs: waiting ones, and running ones whose worker is dead.

        Unless some are ``expected``, a cheaper look comes first, which makes nobody wait.
        """
        if not expected:
            async with self.database.read() as db:
                if await self._statements.due.first(db, kinds=kinds, at=now(), most=1) is None:
                    return []
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
        """Keep the lease for another term. False when the job's own work has just ended it. Raises LeaseLost."""
        async with self.database.transaction() as tx:
            try:
                await self._update_leased(tx, job, {"lease_until": now() + self.lease})
            except LeaseLost:
                # Every claim raises the fence: the same fence means that no other worker has the job.
                same = select(self.table.c.id).where(
                    self.table.c.id == job.id, self.table.c.fence == job.fence
                )
                if (await tx.execute(same)).first() is None:
                    raise
                return False
        return True

    async def finish(self, tx: Tx, job: Job, *, again_at: datetime | None = None) -> None:
        """End the job in ``tx``, together with its effect; or have it run again at a time. Raises LeaseLost."""
        if again_at is not None:
            ended = {"finished_at": now(), "owner": None, "last_error": None}
            again = {"state": JobState.WAITING, "run_at": again_at, "attempts": 0, "progress": None}
            await self._update_leased(tx, job, ended | again)
            if again_at <= now() and self.wake is not None:
                tx.on_commit(self.wake.set)
        elif not await self._statements.finish.run(tx, job_id=job.id, claim=job.fence, at=now()):
            raise LeaseLost(f"{job.kind} {job.key}")

        def set_ended() -> None:
            job.ended = True

        tx.on_commit(set_ended)

    async def finish_alone(self, job: Job) -> None:
        """End the job whose work had no effect to end it with, in one statement; nothing happens when its lease is lost."""
        await self.database.run_alone(
            lambda db: self._statements.finish.run(db, job_id=job.id, claim=job.fence, at=now())
        )

    async def retry(self, job: Job, error: str, *, counts: bool = True) -> None:
        """Hand the job back to run later: after 1 s at first, doubling, 10 min at most. Raises LeaseLost.

        Not ``counts``: what failed was not the job, so it runs again after 5 s at most.
        """
        longest = LONGEST_RETRY if counts else LONGEST_RETRY_AWAY
        pause = min(FIRST_RETRY * 2 ** min(job.attempts - 1, 20), longest)
        async with self.database.transaction() as tx:
            await self._update_leased(
                tx,
                job,
                {"state": JobState.WAITING, "run_at": now() + pause, "last_error": error, "owner": None},
            )

    async def fail(self, tx: Tx, job: Job, error: str) -> None:
        """End the job as failed in ``tx``. Raises LeaseLost."""
        await self._update_leased(
            tx, job, {"state": JobState.FAILED, "finished_at": now(), "last_error": error, "owner": None}
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
            .where(table.c.state == JobState.WAITING, table.c.run_at <= now())
            .group_by(table.c.kind)
        )
        async with self.database.read() as db:
            return {row.kind: row.since for row in await fetch_all(db, statement, DueKindRow)}

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
"""A job that was never claimed, beside what differs from job to job."""


def _constant(state: JobState) -> ColumnElement[str]:
    """Part of the text of a statement: prepared ones take values by their names alone."""
    return literal_column(f"'{state}'", String)


@cache
def _statements(table: Table) -> _Statements:
    added: dict[str, object] = {name: bindparam(name) for name in _ADDED}
    insertion = postgresql.insert(table).values(added | _FRESH | {"fence": 0})
    renewed = {name: insertion.excluded[name] for name in (*_ADDED, *_FRESH)}
    is_ended = table.c.state.in_([_constant(JobState.DONE), _constant(JobState.FAILED)])
    waits, runs = _constant(JobState.WAITING), _constant(JobState.RUNNING)
    at = bindparam("at", type_=UtcDateTime)
    due = (
        select(table.c.id)
        .where(
            any_of(table.c.kind, "kinds"),
            or_(
                and_(table.c.state == waits, table.c.run_at <= at),
                and_(table.c.state == runs, table.c.lease_until < at),
            ),
        )
        .order_by(table.c.run_at)
        .limit(bindparam("most", type_=Integer))
    )
    # PostgreSQL looks for the jobs once, since it locks them: nobody else gets one of them.
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
        due=PreparedQuery(due, JobIdRow),
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
