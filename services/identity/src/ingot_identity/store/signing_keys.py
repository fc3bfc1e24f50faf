"""SQL for the sealed keys that sign principals."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, select

from ingot_chassis.database import Executor, insert
from ingot_identity.store.tables import signing_key


async def list_newest_first(db: Executor) -> list[Row[Any]]:
    return list((await db.execute(select(signing_key).order_by(signing_key.c.version.desc()))).all())


async def add(db: Executor, **values: Any) -> None:
    """Insert one; nothing happens when another process has made that version."""
    await db.execute(insert(db, signing_key).values(values).on_conflict_do_nothing())


async def remove_older(db: Executor, than: datetime) -> None:
    await db.execute(delete(signing_key).where(signing_key.c.created_at < than))
