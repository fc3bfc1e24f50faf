"""SQL for stopwatches: they run from when a person starts them on an issue until that person stops them."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_issues.store.tables import issue, stopwatch


class StopwatchRow(TypedRow):
    """A stopwatch with its issue."""

    repository_id: int
    number: int
    title: str
    created_at: datetime


class StartRow(TypedRow):
    """When a stopwatch was started."""

    created_at: datetime


async def add(db: Executor, issue_id: int, account_id: int) -> bool:
    """Start a stopwatch; False when it runs already."""
    values = {"issue_id": issue_id, "account_id": account_id, "created_at": now()}
    statement = insert(db, stopwatch).values(values).on_conflict_do_nothing()
    return (await fetch_first(db, statement.returning(stopwatch.c.created_at), StartRow)) is not None


async def remove(db: Executor, issue_id: int, account_id: int) -> datetime | None:
    """Stop a stopwatch; when it was started, or None when there is none."""
    statement = delete(stopwatch).where(
        stopwatch.c.issue_id == issue_id, stopwatch.c.account_id == account_id
    )
    row = await fetch_first(db, statement.returning(stopwatch.c.created_at), StartRow)
    return None if row is None else row.created_at


async def list_repositories(db: Executor, account_id: int) -> list[int]:
    """The repositories in which somebody has stopwatches."""
    statement = select(issue.c.repository_id).join(stopwatch, stopwatch.c.issue_id == issue.c.id)
    mine = statement.where(stopwatch.c.account_id == account_id)
    return list((await db.execute(mine.distinct())).scalars())


async def list_page(
    db: Executor, account_id: int, page: Slice, *, within: Collection[int]
) -> tuple[Sequence[StopwatchRow], int]:
    """A page of somebody's stopwatches in the repositories ``within``, the oldest first; and how many there are."""
    statement = (
        select(issue.c.repository_id, issue.c.number, issue.c.title, stopwatch.c.created_at)
        .join(stopwatch, stopwatch.c.issue_id == issue.c.id)
        .where(stopwatch.c.account_id == account_id, issue.c.repository_id.in_(within))
    )
    return await fetch_page(db, statement, page, StopwatchRow, stopwatch.c.created_at, issue.c.id)
