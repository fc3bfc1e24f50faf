"""SQL for the labels of a repository."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, delete, func, select, update

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_issues.store.tables import label

LabelRow = Row[Any]


async def add(db: Executor, **values: Any) -> LabelRow:
    return (await db.execute(label.insert().values(values).returning(label))).one()


async def get(db: Executor, repository_id: int, label_id: int) -> LabelRow | None:
    statement = select(label).where(label.c.repository_id == repository_id, label.c.id == label_id)
    return (await db.execute(statement)).first()


async def get_by_name(db: Executor, repository_id: int, name: str) -> LabelRow | None:
    statement = select(label).where(
        label.c.repository_id == repository_id, func.lower(label.c.name) == name.lower()
    )
    return (await db.execute(statement.order_by(label.c.id).limit(1))).first()


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Row[Any]]:
    """Those that there are, by id."""
    if not ids:
        return {}
    rows = await db.execute(select(label).where(label.c.id.in_(ids)))
    return {row.id: row for row in rows}


async def list_of(db: Executor, repository_id: int, page: Page) -> tuple[list[LabelRow], int]:
    """A page of a repository's labels by name, and how many there are."""
    own = label.c.repository_id == repository_id
    listed = select(label).where(own).order_by(func.lower(label.c.name), label.c.id)
    rows = await db.execute(listed.limit(page.limit).offset(page.offset))
    total = await db.execute(select(func.count()).select_from(label).where(own))
    return list(rows.all()), int(total.scalar_one())


async def known(db: Executor, repository_id: int, ids: Sequence[int], names: Sequence[str] = ()) -> list[int]:
    """The ids of the repository's labels that have one of ``ids`` or ``names``."""
    named = func.lower(label.c.name).in_([name.lower() for name in names])
    statement = select(label.c.id).where(label.c.repository_id == repository_id, label.c.id.in_(ids) | named)
    return list((await db.execute(statement)).scalars())


async def change(db: Executor, label_id: int, **values: Any) -> LabelRow:
    statement = update(label).where(label.c.id == label_id).values(values).returning(label)
    return (await db.execute(statement)).one()


async def remove(db: Executor, label_id: int) -> None:
    await db.execute(delete(label).where(label.c.id == label_id))
