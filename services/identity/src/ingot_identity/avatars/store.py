"""SQL for uploaded pictures of accounts. ``account.avatar_digest`` repeats the digest."""

from sqlalchemy import Column, ForeignKey, LargeBinary, String, Table, delete, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

avatar = Table(
    "avatar",
    metadata,
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", String(64), nullable=False, index=True),
    Column("media_type", String(30), nullable=False),
    Column("content", LargeBinary, nullable=False),
)


class AvatarRow(TypedRow):
    digest: str
    media_type: str
    content: bytes


async def save(db: Executor, account_id: int, *, digest: str, media_type: str, content: bytes) -> None:
    values = {"digest": digest, "media_type": media_type, "content": content}
    statement = insert(db, avatar).values(account_id=account_id, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["account_id"], set_=values))


async def get(db: Executor, digest: str) -> AvatarRow | None:
    """Return the picture with this digest, or None. It may belong to any account."""
    return await fetch_first(db, select(avatar).where(avatar.c.digest == digest).limit(1), AvatarRow)


async def remove(db: Executor, account_id: int) -> None:
    await db.execute(delete(avatar).where(avatar.c.account_id == account_id))
