"""SQL for deleted repositories whose files are still there, and who has yet to confirm that it forgot them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from ingot_chassis.database import Executor
from ingot_chassis.tables import now
from ingot_repos.store.tables import tombstone


async def add(db: Executor, repository_id: int, shard: str, awaited: Sequence[str]) -> None:
    values = {
        "repository_id": repository_id,
        "shard": shard,
        "awaited": " ".join(awaited),
        "deleted_at": now(),
    }
    await db.execute(insert(tombstone).values(values))


async def confirm(db: Executor, repository_id: int, service: str) -> str | None:
    """``service`` is awaited no more; the shard of the repository if it was the last one."""
    of_it = tombstone.c.repository_id == repository_id
    # Locked: of two that confirm at once, one must find that it is the last.
    row = (await db.execute(select(tombstone).where(of_it).with_for_update())).first()
    if row is None:
        return None
    awaited = [one for one in row.awaited.split() if one != service]
    if awaited:
        await db.execute(update(tombstone).where(of_it).values(awaited=" ".join(awaited)))
        return None
    await remove(db, repository_id)
    return str(row.shard)


async def older(db: Executor, than: datetime, shard: str) -> Sequence[Any]:
    """Those of a shard that nobody's confirmation will end any more."""
    overdue = select(tombstone).where(tombstone.c.deleted_at < than, tombstone.c.shard == shard)
    return (await db.execute(overdue)).all()


async def remove(db: Executor, repository_id: int) -> bool:
    """Whether it was there."""
    return (
        await db.execute(delete(tombstone).where(tombstone.c.repository_id == repository_id))
    ).rowcount == 1
