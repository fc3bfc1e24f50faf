"""SQL for the SSH keys of users."""

from typing import Any

from sqlalchemy import Row, delete, func, select

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_identity.store.tables import ssh_key


async def add(
    db: Executor, account_id: int, *, title: str, content: str, fingerprint: str
) -> Row[Any] | None:
    """Insert a key; None when anybody has the key, or its owner one of that title."""
    statement = (
        insert(db, ssh_key)
        .values(
            account_id=account_id, title=title, content=content, fingerprint=fingerprint, created_at=now()
        )
        .on_conflict_do_nothing()
        .returning(ssh_key)
    )
    return (await db.execute(statement)).first()


async def exists(db: Executor, fingerprint: str) -> bool:
    return (
        await db.execute(select(ssh_key.c.id).where(ssh_key.c.fingerprint == fingerprint))
    ).first() is not None


async def get(db: Executor, key_id: int) -> Row[Any] | None:
    return (await db.execute(select(ssh_key).where(ssh_key.c.id == key_id))).first()


async def list_of(db: Executor, account_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """In the order in which they were added."""
    mine = ssh_key.c.account_id == account_id
    rows = await db.execute(
        select(ssh_key).where(mine).order_by(ssh_key.c.id).limit(page.limit).offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(ssh_key).where(mine))
    return list(rows.all()), int(total.scalar_one())


async def remove(db: Executor, key_id: int) -> None:
    await db.execute(delete(ssh_key).where(ssh_key.c.id == key_id))
