"""SQL for refresh tokens that a token endpoint has rotated, by the grant that they continue."""

from datetime import datetime

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
    # A hash of the endpoint, the client and the refresh token of the settings. So processes with former
    # settings, which run during an update, do not use the token of a new grant.
    Column("grant_hash", String(64), primary_key=True),
    # The last token of the endpoint.
    Column("sealed_token", LargeBinary, nullable=False),
    # A process is at the endpoint until then; None: no process is.
    Column("leased_until", UtcDateTime),
    Column("updated_at", UtcDateTime, nullable=False),
)


class RefreshTokenRow(TypedRow):
    grant_hash: str
    sealed_token: bytes
    leased_until: datetime | None
    updated_at: datetime


async def get(db: Executor, grant_hash: str) -> RefreshTokenRow | None:
    statement = select(refresh_token).where(refresh_token.c.grant_hash == grant_hash)
    return await fetch_first(db, statement, RefreshTokenRow)


async def lease(db: Executor, grant_hash: str, until: datetime, *, sealed_token: bytes) -> None:
    """Lease the token of a grant. ``sealed_token`` is stored if the grant has none."""
    values = {"leased_until": until, "updated_at": now()}
    statement = insert(db, refresh_token).values(grant_hash=grant_hash, sealed_token=sealed_token, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["grant_hash"], set_=values))


async def release(db: Executor, grant_hash: str, until: datetime, *, sealed_token: bytes) -> None:
    """Store the next token of a grant and end its lease. A lease that another process has now stays."""
    statement = refresh_token.update().where(
        refresh_token.c.grant_hash == grant_hash, refresh_token.c.leased_until == until
    )
    await db.execute(statement.values(sealed_token=sealed_token, leased_until=None, updated_at=now()))


async def delete_unused(db: Executor, before: datetime) -> None:
    """Delete the tokens of grants that were last used before a time."""
    await db.execute(refresh_token.delete().where(refresh_token.c.updated_at < before))
