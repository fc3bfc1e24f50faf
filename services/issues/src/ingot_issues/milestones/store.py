"""SQL for milestones. A milestone stores the counts of its issues."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from sqlalchemy import (
    Column,
    ColumnElement,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    delete,
    func,
    or_,
    select,
    true,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_issues.records.store.states import State, StateFilter
from ingot_issues.records.store.tables import issue
from ingot_issues.records.store.texts import ESCAPE, pattern_of
from ingot_issues.schema import metadata

milestone = Table(
    "milestone",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigId, nullable=False, index=True),
    Column("title", String(255), nullable=False),
    Column("description", Text, nullable=False, default=""),
    Column("state", String(6), nullable=False),
    Column("due_on", UtcDateTime),
    Column("closed_at", UtcDateTime),
    Column("open_issues", Integer, nullable=False, default=0, server_default="0"),
    Column("closed_issues", Integer, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime),
    Column("updated_at", UtcDateTime),
    **LASTING_IDS,
)


class MilestoneRow(TypedRow):
    """A milestone of a repository."""

    id: int
    repository_id: int
    title: str
    description: str
    state: State
    due_on: datetime | None
    closed_at: datetime | None
    open_issues: int
    closed_issues: int
    created_at: datetime | None
    updated_at: datetime | None


class ListedMilestoneRow(MilestoneRow, TotalRow):
    """A milestone in a page, with the total number."""


_BY_IDS = PreparedQuery(select(milestone).where(any_of(milestone.c.id, "ids")), MilestoneRow)


def contains_issue(
    repository_id: int | None, ids: Sequence[int], titles: Sequence[str]
) -> ColumnElement[bool]:
    """Return the condition for issues in a milestone with one of these ids or titles.

    With ``repository_id`` None, milestones of any repository match.
    """
    lower_titles = [title.lower() for title in titles]
    return issue.c.milestone_id.in_(
        select(milestone.c.id).where(
            true() if repository_id is None else milestone.c.repository_id == repository_id,
            or_(milestone.c.id.in_(ids), func.lower(milestone.c.title).in_(lower_titles)),
        )
    )


async def add(db: Executor, repository_id: int, values: Mapping[str, object]) -> MilestoneRow:
    moment = now()
    times = {"created_at": moment, "updated_at": moment}
    statement = milestone.insert().values(repository_id=repository_id, **times, **values).returning(milestone)
    [row] = await fetch_all(db, statement, MilestoneRow)
    return row


async def get(db: Executor, repository_id: int, milestone_id: int) -> MilestoneRow | None:
    statement = select(milestone).where(
        milestone.c.repository_id == repository_id, milestone.c.id == milestone_id
    )
    return await fetch_first(db, statement, MilestoneRow)


async def get_by_title(db: Executor, repository_id: int, title: str) -> MilestoneRow | None:
    """Return the milestone with that title in any letter case, or None. Of several, return the oldest."""
    statement = select(milestone).where(
        milestone.c.repository_id == repository_id, func.lower(milestone.c.title) == title.lower()
    )
    return await fetch_first(db, statement.order_by(milestone.c.id).limit(1), MilestoneRow)


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, MilestoneRow]:
    """Return milestones by id. Deleted milestones are omitted."""
    if not ids:
        return {}
    return {row.id: row for row in await _BY_IDS.all(db, ids=list(ids))}


_FILTERS: dict[str, ColumnElement[bool]] = {
    "state": milestone.c.state == bindparam("state"),
    "title": func.lower(milestone.c.title).like(bindparam("title", type_=String), escape=ESCAPE),
}


@lru_cache
def _listed(filters: tuple[str, ...], newest_first: bool) -> PreparedPage[ListedMilestoneRow]:
    """Prepare a list of the milestones of a repository with these filters."""
    where = [milestone.c.repository_id == bindparam("repository_id", type_=BigId)]
    statement = select(milestone).where(*where, *(_FILTERS[name] for name in filters))
    order = milestone.c.id.desc() if newest_first else milestone.c.id
    return PreparedPage(statement, ListedMilestoneRow, order)


async def list_page(
    db: Executor, repository_id: int, page: Slice, *, state: StateFilter, title: str, newest_first: bool
) -> tuple[Sequence[MilestoneRow], int]:
    """Return a page of a repository's milestones, oldest or newest first, and their number.

    ``title`` is a part of the titles; empty for all.
    """
    filters = {
        "state": "" if state == StateFilter.ALL else state.value,
        "title": pattern_of(title) if title else "",
    }
    filters = {name: value for name, value in filters.items() if value}
    return await _listed(tuple(filters), newest_first).read(db, page, repository_id=repository_id, **filters)


async def change(db: Executor, milestone_id: int, values: Mapping[str, object]) -> MilestoneRow:
    statement = update(milestone).where(milestone.c.id == milestone_id).values(updated_at=now(), **values)
    [row] = await fetch_all(db, statement.returning(milestone), MilestoneRow)
    return row


async def count(db: Executor, milestone_id: int, *, open_issues: int = 0, closed_issues: int = 0) -> None:
    """Add to the counts of open and closed issues of a milestone."""
    await db.execute(
        update(milestone)
        .where(milestone.c.id == milestone_id)
        .values(
            open_issues=milestone.c.open_issues + open_issues,
            closed_issues=milestone.c.closed_issues + closed_issues,
        )
    )


async def remove(db: Executor, milestone_id: int) -> None:
    """Delete a milestone, and remove it from its issues."""
    await db.execute(delete(milestone).where(milestone.c.id == milestone_id))


async def remove_all(db: Executor, repository_id: int) -> None:
    """Delete the milestones of a repository."""
    await db.execute(delete(milestone).where(milestone.c.repository_id == repository_id))
