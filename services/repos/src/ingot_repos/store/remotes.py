"""SQL for remotes, migrations and mirrors."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select, update

from ingot_chassis.database import Executor
from ingot_chassis.tables import now
from ingot_repos.store.tables import migration, mirror, remote, repository

UNENDED = ("waiting", "running")


async def add(db: Executor, repository_id: int, *, url: str, sealed: bytes | None, user_id: int) -> None:
    """Write down where a repository comes from, and that it is to be brought over."""
    await db.execute(
        remote.insert().values(repository_id=repository_id, url=url, sealed=sealed, user_id=user_id)
    )
    await db.execute(
        migration.insert().values(repository_id=repository_id, state="waiting", created_at=now())
    )


async def get(db: Executor, repository_id: int) -> Row[Any] | None:
    return (await db.execute(select(remote).where(remote.c.repository_id == repository_id))).first()


async def change(db: Executor, repository_id: int, **values: Any) -> None:
    await db.execute(update(remote).where(remote.c.repository_id == repository_id).values(**values))


async def get_migration(db: Executor, repository_id: int) -> Row[Any] | None:
    """With the URL that it comes from."""
    found = await db.execute(
        select(migration, remote.c.url)
        .join(remote, remote.c.repository_id == migration.c.repository_id)
        .where(migration.c.repository_id == repository_id)
    )
    return found.first()


async def change_migration(db: Executor, repository_id: int, among: Collection[str], **values: Any) -> bool:
    """Change a migration that is in one of these states; whether it was."""
    changed = await db.execute(
        update(migration)
        .where(migration.c.repository_id == repository_id, migration.c.state.in_(among))
        .values(**values)
    )
    return changed.rowcount == 1


async def add_mirror(db: Executor, repository_id: int, *, interval_seconds: int) -> None:
    await db.execute(mirror.insert().values(repository_id=repository_id, interval_seconds=interval_seconds))


async def change_mirror(db: Executor, repository_id: int, **values: Any) -> bool:
    """Whether there is one."""
    changed = await db.execute(update(mirror).where(mirror.c.repository_id == repository_id).values(**values))
    return changed.rowcount == 1


async def get_mirror(db: Executor, repository_id: int) -> Row[Any] | None:
    return (await db.execute(select(mirror).where(mirror.c.repository_id == repository_id))).first()


async def mirrors(db: Executor, ids: Collection[int]) -> dict[int, Row[Any]]:
    """The mirrors among these repositories, with their URL, in one statement."""
    if not ids:
        return {}
    rows = await db.execute(
        select(mirror, remote.c.url)
        .join(remote, remote.c.repository_id == mirror.c.repository_id)
        .where(mirror.c.repository_id.in_(ids))
    )
    return {row.repository_id: row for row in rows}


async def overdue(db: Executor, shard: str) -> tuple[datetime | None, int]:
    """When the mirror that waits longest was due, and how many failed last time."""
    mine = mirror.join(repository, repository.c.id == mirror.c.repository_id)
    found = await db.execute(
        select(
            func.min(mirror.c.next_run_at).label("oldest"),
            func.count().filter(mirror.c.failures > 0).label("failing"),
        )
        .select_from(mine)
        .where(repository.c.shard == shard, repository.c.archived.is_(False))
    )
    row = found.one()
    return row.oldest, int(row.failing)
