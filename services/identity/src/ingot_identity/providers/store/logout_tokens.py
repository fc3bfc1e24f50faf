"""SQL for received logout tokens: none takes effect twice."""

from datetime import datetime

from sqlalchemy import Column, ForeignKey, LargeBinary, Table, delete

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

logout_token = Table(
    "logout_token",
    metadata,
    Column("source_id", ForeignKey("auth_source.id", ondelete="CASCADE"), primary_key=True),
    # Of its ``jti``.
    Column("sha256", LargeBinary(32), primary_key=True),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)


async def add(db: Executor, source_id: int, sha256: bytes, expires_at: datetime) -> bool:
    """Insert a token, and delete expired tokens. Return False if the token was used before."""
    await db.execute(delete(logout_token).where(logout_token.c.expires_at <= now()))
    values = {"source_id": source_id, "sha256": sha256, "expires_at": expires_at}
    statement = insert(db, logout_token).values(values).on_conflict_do_nothing()
    return (await db.execute(statement)).rowcount == 1
