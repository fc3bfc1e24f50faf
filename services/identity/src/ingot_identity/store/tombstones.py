"""SQL for what is left of deleted accounts."""

from sqlalchemy import delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import fetch_first
from ingot_chassis.db.transaction import insert
from ingot_identity.store.tables import AccountRow, TombstoneRow, tombstone


async def write(db: Executor, row: AccountRow, *, fallback_owner_id: int) -> None:
    """Keep of a deleted account what restores it."""
    await db.execute(
        insert(db, tombstone).values(
            account_id=row.id,
            kind=row.kind,
            login=row.login,
            heir_id=fallback_owner_id,
            deleted_at=now(),
        )
    )


async def lock(db: Executor, account_id: int) -> TombstoneRow | None:
    """The tombstone, locked until the transaction ends."""
    columns = tombstone.c
    statement = select(
        columns.account_id, columns.kind, columns.login, columns.heir_id.label("fallback_owner_id")
    )
    return await fetch_first(
        db, statement.where(columns.account_id == account_id).with_for_update(), TombstoneRow
    )


async def release(db: Executor, account_id: int) -> None:
    """Delete the tombstone."""
    await db.execute(delete(tombstone).where(tombstone.c.account_id == account_id))
