"""The table of refresh tokens that token endpoints have rotated, one per mail server, and its SQL."""

from datetime import datetime
from typing import Any

from sqlalchemy import Column, LargeBinary, String, Table, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_mail.schema import metadata

refresh_token = Table(
    "refresh_token",
    metadata,
    # smtp or imap.
    Column("server", String(10), primary_key=True),
    # The token of the settings. Another one there replaces ``sealed_token``.
    Column("sealed_first", LargeBinary, nullable=False),
    # The last token of the endpoint.
    Column("sealed_token", LargeBinary, nullable=False),
    # A process is at the endpoint until then; None: no process is.
    Column("leased_until", UtcDateTime),
    Column("updated_at", UtcDateTime, nullable=False),
)


class RefreshTokenRow(TypedRow):
    server: str
    sealed_first: bytes
    sealed_token: bytes
    leased_until: datetime | None
    updated_at: datetime


async def get(db: Executor, server: str) -> RefreshTokenRow | None:
    statement = select(refresh_token).where(refresh_token.c.server == server)
    return await fetch_first(db, statement, RefreshTokenRow)


async def put(db: Executor, server: str, **values: Any) -> None:
    """Insert or change the row of a server: smtp or imap."""
    values["updated_at"] = now()
    statement = insert(db, refresh_token).values(server=server, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["server"], set_=values))
