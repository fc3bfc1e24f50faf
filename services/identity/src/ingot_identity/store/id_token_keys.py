"""SQL for the sealed keys that sign id tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import fetch_all
from ingot_chassis.db.transaction import insert
from ingot_identity.store.oauth2_tables import IdTokenKeyRow, id_token_key


async def list_newest_first(db: Executor) -> Sequence[IdTokenKeyRow]:
    return await fetch_all(db, select(id_token_key).order_by(id_token_key.c.version.desc()), IdTokenKeyRow)


async def remove_older(db: Executor, time: datetime) -> None:
    await db.execute(delete(id_token_key).where(id_token_key.c.created_at < time))


async def add(db: Executor, **values: Any) -> None:
    """Insert a key; without effect when another process has inserted that version."""
    await db.execute(insert(db, id_token_key).values(created_at=now(), **values).on_conflict_do_nothing())
