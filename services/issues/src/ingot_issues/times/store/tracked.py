"""SQL for tracked times."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache

from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Table,
    and_,
    bindparam,
    delete,
    not_,
    or_,
    select,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_issues.records.store.tables import issue
from ingot_issues.schema import metadata

tracked_time = Table(
    "tracked_time",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("repository_id", BigId, nullable=False, index=True),
    Column("account_id", BigId, nullable=False, index=True),
    Column("seconds", BigId, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_tracked_time_of_repository", "repository_id", "id"),
    Index("ix_tracked_time_of_account", "account_id", "id"),
    **LASTING_IDS,
)


class TimeRow(TypedRow):
    """Time that a person spent on an issue."""

    id: int
    issue_id: int
    repository_id: int
    account_id: int
    seconds: int
    created_at: datetime


class _ListedTimeRow(TimeRow, TotalRow):
    """A time in a list, with the total number."""


async def add(
    db: Executor, *, issue_id: int, repository_id: int, account_id: int, seconds: int, at: datetime | None
) -> TimeRow:
    """Insert a time that was spent at ``at``, or now."""
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
    """Return the times with these ids, by id."""
    if not ids:
        return {}
    rows = await fetch_all(db, select(tracked_time).where(tracked_time.c.id.in_(ids)), TimeRow)
    return {row.id: row for row in rows}


async def list_of_person(db: Executor, issue_id: int, account_id: int) -> Sequence[TimeRow]:
    """Return the times of one person on an issue."""
    statement = select(tracked_time).where(
        tracked_time.c.issue_id == issue_id, tracked_time.c.account_id == account_id
    )
    return await fetch_all(db, statement.order_by(tracked_time.c.id), TimeRow)


async def remove(db: Executor, ids: Sequence[int]) -> set[int]:
    """Delete times. Return the ids of the deleted times."""
    statement = delete(tracked_time).where(tracked_time.c.id.in_(ids)).returning(tracked_time.c.id)
    return set((await db.execute(statement)).scalars())


async def list_repositories(db: Executor, account_id: int) -> list[int]:
    """Return the ids of repositories in which a person has tracked time."""
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
    without_issues: Collection[int] = (),
    without_pulls: Collection[int] = (),
    since: datetime | None = None,
    before: datetime | None = None,
) -> tuple[Sequence[TimeRow], int]:
    """Return a page of the times of an issue, a repository or a person, oldest first, and their number.

    ``within`` limits the list to these repositories. Times of issues of the repositories ``without_issues``
    are omitted, and times of pull requests of ``without_pulls``.
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
    if without_issues or without_pulls:
        bounds |= {"without_issues": list(without_issues), "without_pulls": list(without_pulls)}
    return await _times(tuple(bounds)).read(db, page, **bounds)


_BOUNDS: dict[str, ColumnElement[bool]] = {
    "issue_id": tracked_time.c.issue_id == bindparam("issue_id", type_=BigId),
    "repository_id": tracked_time.c.repository_id == bindparam("repository_id", type_=BigId),
    "account_id": tracked_time.c.account_id == bindparam("account_id", type_=BigId),
    "within": any_of(tracked_time.c.repository_id, "within"),
    "since": tracked_time.c.created_at >= bindparam("since", type_=UtcDateTime),
    "before": tracked_time.c.created_at <= bindparam("before", type_=UtcDateTime),
}

_IS_HIDDEN = select(issue.c.id).where(
    issue.c.id == tracked_time.c.issue_id,
    or_(
        and_(issue.c.is_pull.is_(False), any_of(issue.c.repository_id, "without_issues")),
        and_(issue.c.is_pull, any_of(issue.c.repository_id, "without_pulls")),
    ),
)


@lru_cache
def _times(bounds: tuple[str, ...]) -> PreparedPage[_ListedTimeRow]:
    """Return the query for pages of times within these bounds."""
    ids = select(tracked_time.c.id).where(*(_BOUNDS[name] for name in bounds if name in _BOUNDS))
    if "without_issues" in bounds:
        ids = ids.where(not_(_IS_HIDDEN.exists()))
    return PreparedPage(select(tracked_time), _ListedTimeRow, tracked_time.c.id, ids=ids)


async def remove_all(db: Executor, repository_id: int) -> None:
    """Delete the times of a repository."""
    await db.execute(delete(tracked_time).where(tracked_time.c.repository_id == repository_id))
