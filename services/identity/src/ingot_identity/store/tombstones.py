"""SQL for what is left of deleted accounts."""

from sqlalchemy import bindparam, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.tables import BigId
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


_LOCKED = PreparedQuery(
    select(
        tombstone.c.account_id,
        tombstone.c.kind,
        tombstone.c.login,
        tombstone.c.heir_id.label("fallback_owner_id"),
    )
    .where(tombstone.c.account_id == bindparam("account_id", type_=BigId))
    .with_for_update(),
    TombstoneRow,
)


async def lock(db: Executor, account_id: int) -> TombstoneRow | None:
    """The tombstone, locked until the transaction ends."""
    return await _LOCKED.first(db, account_id=account_id)


async def release(db: Executor, account_id: int) -> None:
    """Delete the tombstone."""
    await db.execute(delete(tombstone).where(tombstone.c.account_id == account_id))
