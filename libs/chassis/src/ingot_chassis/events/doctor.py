"""Checks of a service's events, jobs and database. Problems and cures are lines for an operator."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.jobs.jobs import JobState

LATE = timedelta(minutes=1)
LONGEST_WAIT = timedelta(minutes=5)
"""The longest time that due work may wait. Alerts have the same limit."""
CLOCK_SECONDS = 2.0
LEAST_SPACE = 0.05
SHOWN = 20
"""Lines about single events; further events are only counted."""


class LargeEventRow(TypedRow):
    """An event that is too large for NATS. ``size`` is in bytes."""

    id: str
    type: str
    key: str
    size: int


class UnappliedEventRow(TypedRow):
    """An event that a consumer could not apply."""

    event_id: str
    error: str


class StuckJobRow(TypedRow):
    """A job whose lease has expired."""

    id: int
    kind: str
    key: str
    owner: str | None


class WaitingJobsRow(TypedRow):
    """Overdue jobs of one kind. ``since`` is the time at which the first of them became due."""

    kind: str
    total: int
    since: datetime


async def examine(service: str, database: Database) -> list[str]:
    """Return one line for each problem, or an empty list."""
    return [
        *await _late_events(service, database),
        *await _events_too_large(service, database),
        *await _events_not_applied(service, database),
        *await _stuck_jobs(service, database),
        *await _waiting_jobs(service, database),
        *await _clock(service, database),
    ]


def examine_space(service: str, folder: Path) -> list[str]:
    """Return one line for each kind of disk space that runs out in ``folder``."""
    disk = os.statvfs(folder)
    lines = []
    if disk.f_bavail < disk.f_blocks * LEAST_SPACE:
        free = disk.f_bavail * disk.f_frsize // 2**20
        lines.append(
            f"{service}: {folder} has {free} MiB free, less than {LEAST_SPACE:.0%}; make room or enlarge it"
        )
    if disk.f_files and disk.f_favail < disk.f_files * LEAST_SPACE:
        lines.append(f"{service}: {folder} has {disk.f_favail} inodes free, less than {LEAST_SPACE:.0%}")
    return lines


async def _stuck_jobs(service: str, database: Database) -> list[str]:
    """Report expired leases.

    A lease lasts for seconds and is renewed. If expired leases remain, no worker takes over the jobs.
    """
    job = database.metadata.tables["job"]
    stuck = (job.c.state == JobState.RUNNING) & (job.c.lease_until < now() - LATE)
    statement = select(job.c.id, job.c.kind, job.c.key, job.c.owner).where(stuck).order_by(job.c.id)
    async with database.read() as db:
        rows = await fetch_all(db, statement, StuckJobRow)
    return shortened(
        service,
        [
            f"{service}: job {row.id} ({row.kind} {row.key}) is held by {row.owner}, which no longer works "
            f"on it, and no worker takes it over; see that a process of {service} does the background work"
            for row in rows
        ],
    )


async def _waiting_jobs(service: str, database: Database) -> list[str]:
    """Report overdue jobs. Workers take due jobs within seconds, so no worker runs, or all are busy."""
    job = database.metadata.tables["job"]
    since = func.min(job.c.run_at).label("since")
    statement = (
        select(job.c.kind, func.count().label("total"), since)
        .where(job.c.state == JobState.WAITING, job.c.run_at < now() - LONGEST_WAIT)
        .group_by(job.c.kind)
        .order_by(since)
    )
    async with database.read() as db:
        rows = await fetch_all(db, statement, WaitingJobsRow)
    return shortened(
        service,
        [
            f"{service}: {row.total} jobs ({row.kind}) are due for more than 5 minutes, the first since "
            f"{utc(row.since)}, and no worker takes them; see that a process of {service} does the "
            "background work, and that not all of its workers are busy with long jobs"
            for row in rows
        ],
    )


async def _clock(service: str, database: Database) -> list[str]:
    """Compare the clocks of process and database, because leases compare times of several machines."""
    if database.is_sqlite:
        return []
    async with database.read() as db:
        there = (await db.execute(select(func.clock_timestamp()))).scalar_one()
    difference = abs((now() - there).total_seconds())
    if difference <= CLOCK_SECONDS:
        return []
    return [f"{service}: the clock here and that of PostgreSQL differ by {difference:.1f} s; set both by NTP"]


async def _late_events(service: str, database: Database) -> list[str]:
    outbox = database.metadata.tables["outbox"]
    late = outbox.c.sent_at.is_(None) & (outbox.c.created_at < now() - LATE)
    async with database.read() as db:
        count = (await db.execute(select(func.count()).where(late))).scalar_one()
    if not count:
        return []
    line = f"{service}: {count} events wait for NATS for more than a minute; see that nats-server runs"
    return [f"{line}, and a process of {service} that does the background work"]


async def _events_too_large(service: str, database: Database) -> list[str]:
    outbox = database.metadata.tables["outbox"]
    size = func.length(outbox.c.payload).label("size")
    statement = select(outbox.c.id, outbox.c.type, outbox.c.key, size).order_by(outbox.c.seq)
    async with database.read() as db:
        rows = await fetch_all(db, statement.where(outbox.c.dead_lettered_at.is_not(None)), LargeEventRow)
    return shortened(
        service,
        [
            f"{service}: event {row.id} ({row.type}, key {row.key}) was not sent, because it has {row.size} "
            f"bytes; raise max_payload of nats-server above that, then run `ingot-{service} replay`"
            for row in rows
        ],
    )


async def _events_not_applied(service: str, database: Database) -> list[str]:
    inbox = database.metadata.tables["inbox"]
    statement = select(inbox.c.event_id, inbox.c.error).order_by(inbox.c.received_at)
    async with database.read() as db:
        rows = await fetch_all(db, statement.where(inbox.c.error.is_not(None)), UnappliedEventRow)
    return shortened(
        service,
        [
            f"{service}: event {row.event_id} could not be applied: {row.error}; "
            f"remove the cause, then run `ingot-{service} replay`"
            for row in rows
        ],
    )


def utc(time: datetime) -> str:
    """Format a time for an operator."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def shortened(service: str, lines: list[str]) -> list[str]:
    """Return the first lines of one kind, and a line that counts the others."""
    if len(lines) <= SHOWN:
        return lines
    return [*lines[:SHOWN], f"{service}: and {len(lines) - SHOWN} more of this kind"]
