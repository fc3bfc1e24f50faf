"""SQL for the sealed keys that sign principals."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Integer, LargeBinary, String, Table, delete, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

signing_key = Table(
    "signing_key",
    metadata,
    Column("kid", String(32), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("x", String(64), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("version", Integer, nullable=False, unique=True),
)


class SigningKeyRow(TypedRow):
    kid: str
    sealed: bytes
    x: str
    created_at: datetime
    version: int


async def list_newest_first(db: Executor) -> Sequence[SigningKeyRow]:
    return await fetch_all(db, select(signing_key).order_by(signing_key.c.version.desc()), SigningKeyRow)


async def add(db: Executor, **values: Any) -> None:
    """Insert a key. Do nothing if another process has inserted that version."""
    await db.execute(insert(db, signing_key).values(values).on_conflict_do_nothing())


async def remove_older(db: Executor, than: datetime) -> None:
    await db.execute(delete(signing_key).where(signing_key.c.created_at < than))
