"""SQL for accounts that are gone."""

from typing import Any

from sqlalchemy import Row, delete, select

from ingot_chassis.database import Executor, insert
from ingot_chassis.tables import now
from ingot_identity.store.tables import departed


async def note(db: Executor, row: Row[Any], heir_id: int) -> None:
    """Keep of a deleted account what would bring it back."""
    await db.execute(
        insert(db, departed).values(
            account_id=row.id, kind=row.kind, login=row.login, heir_id=heir_id, deleted_at=now()
        )
    )


async def lock(db: Executor, account_id: int) -> Row[Any] | None:
    """What was kept of it, held until the transaction ends."""
    return (
        await db.execute(select(departed).where(departed.c.account_id == account_id).with_for_update())
    ).first()


async def forget(db: Executor, account_id: int) -> None:
    await db.execute(delete(departed).where(departed.c.account_id == account_id))
