"""SQL for stopwatches: a person starts and stops them on an issue."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Column, ForeignKey, Table, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_issues.records.store.tables import issue
from ingot_issues.repositories.store.ids import of_units
from ingot_issues.schema import metadata

stopwatch = Table(
    "stopwatch",
    metadata,
    Column("account_id", BigId, primary_key=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("created_at", UtcDateTime, nullable=False),
)


class StopwatchRow(TypedRow):
    """A stopwatch with its issue."""

    repository_id: int
    number: int
    title: str
    created_at: datetime


class StartRow(TypedRow):
    """The start time of a stopwatch."""

    created_at: datetime


async def add(db: Executor, issue_id: int, account_id: int) -> bool:
    """Start a stopwatch. Return False if it is already running."""
    values = {"issue_id": issue_id, "account_id": account_id, "created_at": now()}
    statement = insert(db, stopwatch).values(values).on_conflict_do_nothing()
    return (await fetch_first(db, statement.returning(stopwatch.c.created_at), StartRow)) is not None


async def remove(db: Executor, issue_id: int, account_id: int) -> datetime | None:
    """Stop a stopwatch. Return its start time, or None if none is running."""
    statement = delete(stopwatch).where(
        stopwatch.c.issue_id == issue_id, stopwatch.c.account_id == account_id
    )
    row = await fetch_first(db, statement.returning(stopwatch.c.created_at), StartRow)
    return None if row is None else row.created_at


async def list_repositories(db: Executor, account_id: int) -> list[int]:
    """Return the ids of repositories in which an account has stopwatches."""
    statement = select(issue.c.repository_id).join(stopwatch, stopwatch.c.issue_id == issue.c.id)
    mine = statement.where(stopwatch.c.account_id == account_id)
    return list((await db.execute(mine.distinct())).scalars())


async def list_page(
    db: Executor,
    account_id: int,
    page: Slice,
    *,
    within: Collection[int],
    without_issues: Collection[int],
    without_pulls: Collection[int],
) -> tuple[Sequence[StopwatchRow], int]:
    """Return a page of an account's stopwatches in these repositories, oldest first, and their number.

    ``without_issues`` and ``without_pulls`` are ids of repositories. Stopwatches on their issues or pull
    requests are omitted.
    """
    statement = (
        select(issue.c.repository_id, issue.c.number, issue.c.title, stopwatch.c.created_at)
        .join(stopwatch, stopwatch.c.issue_id == issue.c.id)
        .where(stopwatch.c.account_id == account_id, issue.c.repository_id.in_(within))
        .where(*of_units(issue.c.repository_id, issue.c.is_pull, without_issues, without_pulls))
    )
    return await fetch_page(db, statement, page, StopwatchRow, stopwatch.c.created_at, issue.c.id)
