"""Reports of jobs for administrators, and actions on failed jobs."""

from datetime import datetime

from sqlalchemy import delete, func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import JobState
from ingot_chassis.operations import JobReport, JobReports


class _CountRow(TypedRow):
    state: str
    count: int


class _JobRow(TypedRow):
    id: int
    kind: str
    key: str
    run_at: datetime
    attempts: int
    progress: str | None
    last_error: str | None
    owner: str | None


async def list_jobs(database: Database, state: JobState, limit: int) -> JobReports:
    """Return the first ``limit`` jobs in this state, by due time, and the number of jobs per state.

    Successful jobs are not counted.
    """
    table = database.metadata.tables["job"]
    counts = select(table.c.state, func.count().label("count")).group_by(table.c.state)
    columns = (table.c[name] for name in _JobRow.__annotations__)
    jobs = select(*columns).where(table.c.state == state).order_by(table.c.run_at, table.c.id).limit(limit)
    async with database.read() as db:
        count_rows = await fetch_all(db, counts.where(table.c.state != JobState.DONE), _CountRow)
        rows = await fetch_all(db, jobs, _JobRow)
    return JobReports(
        counts={row.state: row.count for row in count_rows},
        jobs=[
            JobReport(
                id=row.id,
                kind=row.kind,
                key=row.key,
                run_at=row.run_at,
                attempts=row.attempts,
                progress=row.progress or "",
                error=row.last_error or "",
                owner=row.owner or "",
            )
            for row in rows
        ],
    )


async def run_now(database: Database, job_id: int) -> None:
    """Run a job now that waits after a failure. Raises NotFound.

    A job without a failure is not run: it may wait for a reason, such as files that are still read.
    """
    table = database.metadata.tables["job"]
    is_retry = (table.c.state == JobState.WAITING) & table.c.last_error.is_not(None)
    async with database.transaction() as tx:
        updated = await tx.execute(update(table).where(table.c.id == job_id, is_retry).values(run_at=now()))
        if updated.rowcount != 1:
            raise NotFound


async def forget_failed(database: Database, job_id: int) -> None:
    """Delete a job that has failed permanently. Raises NotFound."""
    table = database.metadata.tables["job"]
    async with database.transaction() as tx:
        deleted = await tx.execute(
            delete(table).where(table.c.id == job_id, table.c.state == JobState.FAILED)
        )
        if deleted.rowcount != 1:
            raise NotFound
