"""The table of replies, and its SQL. A row is a message to a signed address, without its text."""

from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Column, Index, String, Table, Text, delete, func, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_mail.schema import metadata

reply = Table(
    "reply",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("account_id", BigId, nullable=False),
    Column("issue_id", BigId, nullable=False),
    Column("comment_id", BigId, nullable=False),
    Column("refusal", Text, nullable=False),
    Column("received_at", UtcDateTime, nullable=False, index=True),
    Index("ix_reply_account", "account_id", "received_at"),
)


class RefusalRow(TypedRow):
    """The reason why a reply was rejected; empty for a stored reply."""

    refusal: str


class NewReply(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a reply. ``comment_id`` is 0 for a rejected reply, and ``refusal`` is the reason."""

    key: str
    account_id: int
    issue_id: int
    comment_id: int
    refusal: str


async def get_refusal(db: Executor, key: str) -> RefusalRow | None:
    """Return the outcome of a reply; None for a new reply."""
    return await fetch_first(db, select(reply.c.refusal).where(reply.c.key == key), RefusalRow)


async def add(db: Executor, row: NewReply) -> bool:
    """Record the outcome of a reply. Return False if it was already recorded."""
    statement = (
        insert(db, reply).values(**msgspec.structs.asdict(row), received_at=now()).on_conflict_do_nothing()
    )
    return bool((await db.execute(statement)).rowcount)


async def count_since(db: Executor, account_id: int, age: timedelta, *, without: str) -> int:
    """Return the number of replies of an account within the last ``age``.

    Replies with the refusal ``without`` are not counted.
    """
    statement = select(func.count()).where(
        reply.c.account_id == account_id, reply.c.received_at > now() - age, reply.c.refusal != without
    )
    return (await db.execute(statement)).scalar() or 0


async def has_refusal_since(db: Executor, row: NewReply, age: timedelta) -> bool:
    """True if the account has a reply with the same refusal within the last ``age``."""
    statement = select(reply.c.key).where(
        reply.c.account_id == row.account_id,
        reply.c.received_at > now() - age,
        reply.c.refusal == row.refusal,
    )
    return (await db.execute(statement.limit(1))).first() is not None


async def drop_older(db: Executor, before: datetime) -> int:
    """Delete the rows of older replies. Return their number."""
    return int((await db.execute(delete(reply).where(reply.c.received_at < before))).rowcount)
