"""SQL for blocks. Users and organizations block users."""

from collections.abc import Sequence

from sqlalchemy import Column, ForeignKey, String, Table, UniqueConstraint, delete, select, tuple_

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import AccountRow, account, metadata

block = Table(
    "block",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("blocker_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("blocked_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("note", String(255), nullable=False, default="", server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("blocker_id", "blocked_id"),
    **LASTING_IDS,
)


async def save(db: Executor, blocker_id: int, blocked_id: int, note: str) -> None:
    """Block a user, or change the note of a block."""
    values = {"blocker_id": blocker_id, "blocked_id": blocked_id, "note": note, "created_at": now()}
    statement = insert(db, block).values(values)
    await db.execute(
        statement.on_conflict_do_update(index_elements=["blocker_id", "blocked_id"], set_={"note": note})
    )


async def remove(db: Executor, blocker_id: int, blocked_id: int) -> None:
    await db.execute(delete(block).where(block.c.blocker_id == blocker_id, block.c.blocked_id == blocked_id))


async def exists(db: Executor, blocker_id: int, blocked_id: int) -> bool:
    rows = await db.execute(
        select(block.c.id).where(block.c.blocker_id == blocker_id, block.c.blocked_id == blocked_id)
    )
    return rows.first() is not None


async def exists_between(db: Executor, account_id: int, other_id: int) -> bool:
    """True if one of the two blocks the other."""
    pairs = [(account_id, other_id), (other_id, account_id)]
    rows = await db.execute(
        select(block.c.id).where(tuple_(block.c.blocker_id, block.c.blocked_id).in_(pairs)).limit(1)
    )
    return rows.first() is not None


async def list_page(db: Executor, blocker_id: int, page: Slice) -> tuple[Sequence[AccountRow], int]:
    """Return a page of the users whom the account blocks, earliest block first."""
    statement = select(account).join(block, block.c.blocked_id == account.c.id)
    ids = select(block.c.id).where(block.c.blocker_id == blocker_id)
    return await fetch_page(db, statement, page, AccountRow, block.c.id, ids=ids)
