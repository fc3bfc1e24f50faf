"""SQL for messages. Addresses and secrets in a row are sealed."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    ForeignKey,
    LargeBinary,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_identity.accounts.store.tables import metadata

COUNTED_FOR = timedelta(hours=1)
"""Rows are kept at least this long, because they count against limits."""

message = Table(
    "message",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("kind", String(40), nullable=False),
    # Null for a message to an address of which no account is known yet.
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), index=True),
    # Null for a message to the primary address of the account.
    Column("address_digest", LargeBinary(32), index=True),
    Column("sealed_address", LargeBinary),
    # Null for a message without a link that needs a secret.
    Column("sha256", LargeBinary(32), unique=True),
    Column("sealed_secret", LargeBinary),
    # That of the account when the message was sent; see ``sessions.rules.stamp_of``.
    Column("password_stamp", String(16), nullable=False, default="", server_default=""),
    # The id of what a link is for, by the kind of the message; 0 without one.
    Column("subject_id", BigId, nullable=False, default=0, server_default="0"),
    # JSON: further texts of the message.
    Column("fields", Text, nullable=False, default="{}", server_default="{}"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    **LASTING_IDS,
)


class MessageRow(TypedRow):
    id: int
    kind: str
    account_id: int | None
    address_digest: bytes | None
    sealed_address: bytes | None
    sha256: bytes | None
    sealed_secret: bytes | None
    password_stamp: str
    subject_id: int
    fields: str
    created_at: datetime
    expires_at: datetime


async def add(db: Executor, **values: Any) -> int:
    statement = insert(message).values(created_at=now(), **values).returning(message.c.id)
    return int((await db.execute(statement)).scalar_one())


async def get(db: Executor, message_id: int) -> MessageRow | None:
    """Return the message; None if it does not exist or has expired."""
    statement = select(message).where(message.c.id == message_id, message.c.expires_at > now())
    return await fetch_first(db, statement, MessageRow)


async def get_by_secret(db: Executor, kind: str, sha256: bytes) -> MessageRow | None:
    """Return the message with the secret of this SHA-256, or None if it has expired."""
    statement = select(message).where(
        message.c.sha256 == sha256, message.c.kind == kind, message.c.expires_at > now()
    )
    return await fetch_first(db, statement, MessageRow)


async def bind(db: Executor, message_id: int, account_id: int, password_stamp: str) -> None:
    """Record the account of the message, and the stamp of the account's password."""
    values = {"account_id": account_id, "password_stamp": password_stamp}
    await db.execute(update(message).where(message.c.id == message_id).values(values))


async def take(db: Executor, message_id: int) -> bool:
    """Delete a message whose link was used. Return False if another request has used it."""
    statement = delete(message).where(message.c.id == message_id).returning(message.c.id)
    return (await db.execute(statement)).scalar() is not None


async def remove_of_address(db: Executor, kind: str, address_digest: bytes) -> None:
    await db.execute(
        delete(message).where(message.c.kind == kind, message.c.address_digest == address_digest)
    )


async def end_of_subject(db: Executor, kind: str, subject_id: int) -> None:
    """Expire the messages about a subject. Their rows stay, because they count against limits."""
    statement = update(message).where(message.c.kind == kind, message.c.subject_id == subject_id)
    await db.execute(statement.where(message.c.expires_at > now()).values(expires_at=now()))


async def count_of_address(db: Executor, kind: str, address_digest: bytes) -> int:
    """Return the number of messages of a kind to the address within the last hour."""
    return await _count(db, kind, message.c.address_digest == address_digest)


async def count_of_account(db: Executor, kind: str, account_id: int) -> int:
    """Return the number of messages of a kind for the account within the last hour."""
    return await _count(db, kind, message.c.account_id == account_id)


async def _count(db: Executor, kind: str, of: Any) -> int:
    recent = message.c.created_at > now() - COUNTED_FOR
    statement = select(func.count()).select_from(message).where(of, message.c.kind == kind, recent)
    return int((await db.execute(statement)).scalar_one())


async def remove_expired(db: Executor) -> None:
    latest = now() - COUNTED_FOR
    await db.execute(delete(message).where(message.c.expires_at <= latest))
