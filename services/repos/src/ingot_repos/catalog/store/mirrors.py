"""The tables of mirrors and their remotes, and SQL for the schedule and the last sync of a mirror.

Mirrors and remotes own the tables and write them. The tables are here because every repository is shown with
its mirror.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    func,
    select,
    update,
)

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import UtcDateTime
from ingot_repos.catalog.store.tables import metadata, repository

remote = Table(
    "remote",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("url", Text, nullable=False),
    # User name and password, sealed; NULL as soon as nothing will be fetched any more.
    Column("sealed", LargeBinary),
    Column("user_id", BigInteger, nullable=False),
    # Where its objects of LFS are fetched from; NULL: they are not.
    Column("lfs_url", Text),
    # Why some of them were not fetched the last time, and which the remote lacks.
    Column("lfs_reason", String(20), nullable=False, default="", server_default=""),
    Column("lfs_absent", Text, nullable=False, default="", server_default=""),
)

mirror = Table(
    "mirror",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # 0: only requested syncs.
    Column("interval_seconds", Integer, nullable=False),
    Column("next_run_at", UtcDateTime, index=True),
    Column("asked_at", UtcDateTime),
    Column("last_ok_at", UtcDateTime),
    Column("reason", String(20), nullable=False, default=""),
    Column("failures", Integer, nullable=False, default=0),
)


class MirrorRow(TypedRow):
    """The schedule and state of a mirror. With ``interval_seconds`` 0 it syncs only on request."""

    repository_id: int
    interval_seconds: int
    next_run_at: datetime | None
    asked_at: datetime | None
    last_ok_at: datetime | None
    reason: str
    failures: int


class _OverdueRow(TypedRow):
    oldest: datetime | None
    failing: int


class MirrorWithUrlRow(MirrorRow):
    """A mirror and the URL of its remote."""

    url: str


async def add(tx: Executor, repository_id: int, *, interval_seconds: int) -> None:
    await tx.execute(mirror.insert().values(repository_id=repository_id, interval_seconds=interval_seconds))


async def change(tx: Executor, repository_id: int, **values: Any) -> bool:
    """Change columns of a mirror. Return True if the repository is a mirror."""
    changed = await tx.execute(update(mirror).where(mirror.c.repository_id == repository_id).values(**values))
    return changed.rowcount == 1


async def get(db: Executor, repository_id: int) -> MirrorRow | None:
    return await fetch_first(db, select(mirror).where(mirror.c.repository_id == repository_id), MirrorRow)


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, MirrorWithUrlRow]:
    """Return the mirrors among these repositories, by id of the repository."""
    if not ids:
        return {}
    statement = (
        select(mirror, remote.c.url)
        .join(remote, remote.c.repository_id == mirror.c.repository_id)
        .where(mirror.c.repository_id.in_(ids))
    )
    return {row.repository_id: row for row in await fetch_all(db, statement, MirrorWithUrlRow)}


async def overdue(db: Executor, shard: str) -> tuple[datetime | None, int]:
    """Return the earliest due time of a shard's mirrors, and the number of mirrors whose last sync failed.

    The time is None if no sync is scheduled. Archived repositories are ignored.
    """
    of_shard = mirror.join(repository, repository.c.id == mirror.c.repository_id)
    statement = (
        select(
            func.min(mirror.c.next_run_at).label("oldest"),
            func.count().filter(mirror.c.failures > 0).label("failing"),
        )
        .select_from(of_shard)
        .where(repository.c.shard == shard, repository.c.archived.is_(False))
    )
    row = await fetch_first(db, statement, _OverdueRow)
    return (row.oldest, row.failing) if row is not None else (None, 0)
