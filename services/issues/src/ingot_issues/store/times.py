"""SQL for tracked times."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache

from sqlalchemy import ColumnElement, bindparam, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_issues.store.tables import tracked_time


class TimeRow(TypedRow):
    """Time that a person spent on an issue."""

    id: int
    issue_id: int
    repository_id: int
    account_id: int
    seconds: int
    created_at: datetime


class _ListedTimeRow(TimeRow, TotalRow):
    """A time of a list."""


async def add(
    db: Executor, *, issue_id: int, repository_id: int, account_id: int, seconds: int, at: datetime | None
) -> TimeRow:
    """Insert a time that was spent at that time, or now."""
    values = {
        "issue_id": issue_id,
        "repository_id": repository_id,
        "account_id": account_id,
        "seconds": seconds,
        "created_at": at or now(),
    }
    statement = tracked_time.insert().values(values).returning(tracked_time)
    [row] = await fetch_all(db, statement, TimeRow)
    return row


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, TimeRow]:
    """The times with these ids, by id."""
    if not ids:
        return {}
    rows = await fetch_all(db, select(tracked_time).where(tracked_time.c.id.in_(ids)), TimeRow)
    return {row.id: row for row in rows}


async def list_of_person(db: Executor, issue_id: int, account_id: int) -> Sequence[TimeRow]:
    """The times of one person on an issue."""
    statement = select(tracked_time).where(
        tracked_time.c.issue_id == issue_id, tracked_time.c.account_id == account_id
    )
    return await fetch_all(db, statement.order_by(tracked_time.c.id), TimeRow)


async def remove(db: Executor, ids: Sequence[int]) -> set[int]:
    """Delete times; the ids of those that were there."""
    statement = delete(tracked_time).where(tracked_time.c.id.in_(ids)).returning(tracked_time.c.id)
    return set((await db.execute(statement)).scalars())


async def list_repositories(db: Executor, account_id: int) -> list[int]:
    """The repositories in which a person has tracked time."""
    statement = select(tracked_time.c.repository_id).where(tracked_time.c.account_id == account_id)
    return list((await db.execute(statement.distinct())).scalars())


async def list_page(
    db: Executor,
    page: Slice,
    *,
    issue_id: int | None = None,
    repository_id: int | None = None,
    account_id: int | None = None,
    within: Collection[int] | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
) -> tuple[Sequence[TimeRow], int]:
    """A page of the times of an issue, a repository or a person, in the order they were added; and how many there are.

    ``within`` are the repositories to which the list is limited.
    """
    values = {
        "issue_id": issue_id,
        "repository_id": repository_id,
        "account_id": account_id,
        "within": None if within is None else list(within),
        "since": since,
        "before": before,
    }
    bounds = {name: value for name, value in values.items() if value is not None}
    return await _times(tuple(bounds)).read(db, page, **bounds)


_BOUNDS: dict[str, ColumnElement[bool]] = {
    "issue_id": tracked_time.c.issue_id == bindparam("issue_id", type_=BigId),
    "repository_id": tracked_time.c.repository_id == bindparam("repository_id", type_=BigId),
    "account_id": tracked_time.c.account_id == bindparam("account_id", type_=BigId),
    "within": any_of(tracked_time.c.repository_id, "within"),
    "since": tracked_time.c.created_at >= bindparam("since", type_=UtcDateTime),
    "before": tracked_time.c.created_at <= bindparam("before", type_=UtcDateTime),
}


@lru_cache
def _times(bounds: tuple[str, ...]) -> PreparedPage[_ListedTimeRow]:
    """The times within these bounds."""
    ids = select(tracked_time.c.id).where(*(_BOUNDS[name] for name in bounds))
    return PreparedPage(select(tracked_time), _ListedTimeRow, tracked_time.c.id, ids=ids)
