"""SQL for deleted repositories that still have files, and for services that must confirm the deletion."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, insert, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_repos.placement.store.tables import tombstone


class TombstoneRow(TypedRow):
    """A deleted repository. ``awaited`` has names of services, separated by spaces."""

    repository_id: int
    shard: str
    awaited: str
    deleted_at: datetime


async def add(db: Executor, repository_id: int, shard: str, awaited: Sequence[str]) -> None:
    values = {
        "repository_id": repository_id,
        "shard": shard,
        "awaited": " ".join(awaited),
        "deleted_at": now(),
    }
    await db.execute(insert(tombstone).values(values))


async def confirm(db: Executor, repository_id: int, service: str) -> str | None:
    """Record the confirmation of a service. Return the shard if it was the last service, else None."""
    of_repository = tombstone.c.repository_id == repository_id
    # Locked: of two concurrent confirmations, one must see that it is the last.
    row = await fetch_first(db, select(tombstone).where(of_repository).with_for_update(), TombstoneRow)
    if row is None:
        return None
    awaited = [name for name in row.awaited.split() if name != service]
    if awaited:
        await db.execute(update(tombstone).where(of_repository).values(awaited=" ".join(awaited)))
        return None
    await remove(db, repository_id)
    return row.shard


async def list_older(db: Executor, than: datetime, shard: str) -> Sequence[TombstoneRow]:
    """List tombstones of a shard that are older than that time."""
    overdue = select(tombstone).where(tombstone.c.deleted_at < than, tombstone.c.shard == shard)
    return await fetch_all(db, overdue, TombstoneRow)


async def remove(db: Executor, repository_id: int) -> bool:
    """Delete a tombstone. Return whether it existed."""
    return (
        await db.execute(delete(tombstone).where(tombstone.c.repository_id == repository_id))
    ).rowcount == 1
