"""SQL for deploy keys."""

from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, and_, delete, func, select

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_repos.store.tables import deploy_key


class Wanted(msgspec.Struct, frozen=True):
    """Which keys a list shows; None: any."""

    key_id: int | None = None
    fingerprint: str | None = None


async def add(db: Executor, **values: Any) -> Row[Any] | None:
    """Insert a key; None when the repository has it already, or one of that title."""
    statement = insert(db, deploy_key).values(created_at=now(), **values).on_conflict_do_nothing()
    return (await db.execute(statement.returning(deploy_key))).first()


async def get(db: Executor, repository_id: int, key_id: int) -> Row[Any] | None:
    found = await db.execute(
        select(deploy_key).where(deploy_key.c.repository_id == repository_id, deploy_key.c.id == key_id)
    )
    return found.first()


async def list_of(db: Executor, repository_id: int, wanted: Wanted, page: Page) -> tuple[list[Row[Any]], int]:
    """In the order in which they were added."""
    these: list[ColumnElement[bool]] = [deploy_key.c.repository_id == repository_id]
    if wanted.key_id is not None:
        these.append(deploy_key.c.id == wanted.key_id)
    if wanted.fingerprint is not None:
        these.append(deploy_key.c.fingerprint == wanted.fingerprint)
    rows = await db.execute(
        select(deploy_key).where(and_(*these)).order_by(deploy_key.c.id).limit(page.limit).offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(deploy_key).where(and_(*these)))
    return list(rows.all()), int(total.scalar_one())


async def remove(db: Executor, repository_id: int, key_id: int) -> None:
    await db.execute(
        delete(deploy_key).where(deploy_key.c.repository_id == repository_id, deploy_key.c.id == key_id)
    )
