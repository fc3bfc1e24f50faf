"""SQL for the sealed keys that sign id tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Integer, LargeBinary, String, Table, Text, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

id_token_key = Table(
    "id_token_key",
    metadata,
    Column("kid", String(64), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    # The public half, as JSON (RFC 7517).
    Column("public_jwk", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("version", Integer, nullable=False, unique=True),
)


class IdTokenKeyRow(TypedRow):
    kid: str
    sealed: bytes
    public_jwk: str
    created_at: datetime
    version: int


async def list_newest_first(db: Executor) -> Sequence[IdTokenKeyRow]:
    return await fetch_all(db, select(id_token_key).order_by(id_token_key.c.version.desc()), IdTokenKeyRow)


async def remove_older(db: Executor, time: datetime) -> None:
    await db.execute(delete(id_token_key).where(id_token_key.c.created_at < time))


async def add(db: Executor, **values: Any) -> None:
    """Insert a key. Do nothing if another process has inserted this version."""
    await db.execute(insert(db, id_token_key).values(created_at=now(), **values).on_conflict_do_nothing())
