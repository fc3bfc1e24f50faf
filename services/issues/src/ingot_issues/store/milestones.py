"""SQL for milestones. Their counts of issues are counted when they are read."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, delete, func, or_, select, update

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_issues.store.tables import issue, milestone

MilestoneRow = Row[Any]


def _milestones() -> Select[Any]:
    def counted(state: str) -> ColumnElement[int]:
        number = select(func.count()).select_from(issue)
        return number.where(issue.c.milestone_id == milestone.c.id, issue.c.state == state).scalar_subquery()

    return select(milestone, counted("open").label("open_issues"), counted("closed").label("closed_issues"))


def ids_of(repository_id: int, ids: Sequence[int], titles: Sequence[str]) -> Select[Any]:
    """The ids of the milestones of a repository with one of those ids or titles."""
    return select(milestone.c.id).where(
        milestone.c.repository_id == repository_id,
        or_(milestone.c.id.in_(ids), func.lower(milestone.c.title).in_([title.lower() for title in titles])),
    )


async def add(db: Executor, **values: Any) -> int:
    statement = milestone.insert().values(values).returning(milestone.c.id)
    return int((await db.execute(statement)).scalar_one())


async def get(db: Executor, repository_id: int, milestone_id: int) -> MilestoneRow | None:
    statement = _milestones().where(
        milestone.c.repository_id == repository_id, milestone.c.id == milestone_id
    )
    return (await db.execute(statement)).first()


async def get_many(db: Executor, ids: Iterable[int]) -> list[MilestoneRow]:
    return list((await db.execute(_milestones().where(milestone.c.id.in_(list(ids))))).all())


async def list_of(
    db: Executor, repository_id: int, page: Page, *, state: str, title: str
) -> tuple[list[MilestoneRow], int]:
    """A page of a repository's milestones in the order they were made, and how many there are."""
    where = [milestone.c.repository_id == repository_id]
    if state != "all":
        where.append(milestone.c.state == state)
    if title:
        where.append(func.lower(milestone.c.title).contains(title.lower(), autoescape=True))
    listed = _milestones().where(*where).order_by(milestone.c.id).limit(page.limit).offset(page.offset)
    rows = await db.execute(listed)
    total = await db.execute(select(func.count()).select_from(milestone).where(*where))
    return list(rows.all()), int(total.scalar_one())


async def change(db: Executor, milestone_id: int, **values: Any) -> None:
    await db.execute(update(milestone).where(milestone.c.id == milestone_id).values(values))


async def remove(db: Executor, repository_id: int, milestone_id: int) -> None:
    await db.execute(
        delete(milestone).where(milestone.c.repository_id == repository_id, milestone.c.id == milestone_id)
    )
