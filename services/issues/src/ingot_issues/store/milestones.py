"""SQL for milestones. They keep the counts of their issues."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, Select, delete, func, or_, select, update

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_issues.store.tables import milestone

MilestoneRow = Row[Any]


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
    statement = select(milestone).where(
        milestone.c.repository_id == repository_id, milestone.c.id == milestone_id
    )
    return (await db.execute(statement)).first()


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


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Row[Any]]:
    """Those that there are, by id."""
    if not ids:
        return {}
    rows = await db.execute(select(milestone).where(milestone.c.id.in_(ids)))
    return {row.id: row for row in rows}


async def list_of(
    db: Executor, repository_id: int, page: Page, *, state: str, title: str
) -> tuple[list[MilestoneRow], int]:
    """A page of a repository's milestones in the order they were made, and how many there are."""
    where = [milestone.c.repository_id == repository_id]
    if state != "all":
        where.append(milestone.c.state == state)
    if title:
        where.append(func.lower(milestone.c.title).contains(title.lower(), autoescape=True))
    listed = select(milestone).where(*where).order_by(milestone.c.id).limit(page.limit).offset(page.offset)
    rows = await db.execute(listed)
    total = await db.execute(select(func.count()).select_from(milestone).where(*where))
    return list(rows.all()), int(total.scalar_one())


async def change(db: Executor, milestone_id: int, **values: Any) -> None:
    await db.execute(update(milestone).where(milestone.c.id == milestone_id).values(values))


async def remove(db: Executor, milestone_id: int) -> None:
    await db.execute(delete(milestone).where(milestone.c.id == milestone_id))
