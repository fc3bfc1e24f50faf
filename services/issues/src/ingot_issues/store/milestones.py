"""SQL for milestones. A milestone keeps the counts of its issues."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from sqlalchemy import ColumnElement, String, bindparam, delete, func, or_, select, true, update

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_issues.store.states import State, StateFilter
from ingot_issues.store.tables import issue, milestone
from ingot_issues.store.text_searches import ESCAPE, pattern_of


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
    """A milestone of a page of milestones."""


_BY_IDS = PreparedQuery(select(milestone).where(any_of(milestone.c.id, "ids")), MilestoneRow)


def contains_issue(
    repository_id: int | None, ids: Sequence[int], titles: Sequence[str]
) -> ColumnElement[bool]:
    """The condition that an issue is in a milestone of the repository with one of those ids or titles.

    ``repository_id`` None: of any repository.
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
    """In any case; the oldest of several."""
    statement = select(milestone).where(
        milestone.c.repository_id == repository_id, func.lower(milestone.c.title) == title.lower()
    )
    return await fetch_first(db, statement.order_by(milestone.c.id).limit(1), MilestoneRow)


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, MilestoneRow]:
    """The milestones with these ids, by id. A deleted milestone is not in it."""
    if not ids:
        return {}
    return {row.id: row for row in await _BY_IDS.all(db, ids=list(ids))}


_FILTERS: dict[str, ColumnElement[bool]] = {
    "state": milestone.c.state == bindparam("state"),
    "title": func.lower(milestone.c.title).like(bindparam("title", type_=String), escape=ESCAPE),
}


@lru_cache
def _listed(filters: tuple[str, ...], newest_first: bool) -> PreparedPage[ListedMilestoneRow]:
    """The milestones of a repository with these filters."""
    where = [milestone.c.repository_id == bindparam("repository_id", type_=BigId)]
    statement = select(milestone).where(*where, *(_FILTERS[name] for name in filters))
    order = milestone.c.id.desc() if newest_first else milestone.c.id
    return PreparedPage(statement, ListedMilestoneRow, order)


async def list_page(
    db: Executor, repository_id: int, page: Slice, *, state: StateFilter, title: str, newest_first: bool
) -> tuple[Sequence[MilestoneRow], int]:
    """A page of a repository's milestones, the oldest or the newest first, and how many there are."""
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
    """Add to the numbers of its issues."""
    await db.execute(
        update(milestone)
        .where(milestone.c.id == milestone_id)
        .values(
            open_issues=milestone.c.open_issues + open_issues,
            closed_issues=milestone.c.closed_issues + closed_issues,
        )
    )


async def remove(db: Executor, milestone_id: int) -> None:
    """Delete a milestone; its issues are in none then."""
    await db.execute(delete(milestone).where(milestone.c.id == milestone_id))
