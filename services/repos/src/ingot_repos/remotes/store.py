"""The table of imports, whose name is ``migration``, and SQL for the remote and the progress of an import."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Integer, String, Table, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import UtcDateTime
from ingot_repos.catalog.store.mirrors import mirror, remote
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.catalog.store.tables import metadata

migration = Table(
    "migration",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("state", String(10), nullable=False),
    Column("phase", String(20), nullable=False, default=""),
    Column("percent", Integer, nullable=False, default=0),
    Column("received", BigInteger, nullable=False, default=0),
    Column("reason", String(20), nullable=False, default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    # How often it was repeated after its first end.
    Column("repeat", Integer, nullable=False, default=0, server_default="0"),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
)


UNENDED = (ImportState.WAITING, ImportState.RUNNING)


class RemoteRow(TypedRow):
    """A remote. ``sealed`` has user name and password. Without ``lfs_url``, no LFS objects are fetched.

    ``lfs_reason`` is the error of the last LFS fetch.
    """

    repository_id: int
    url: str
    sealed: bytes | None
    user_id: int
    lfs_url: str | None
    lfs_reason: str


class ImportRow(TypedRow):
    """An import, the URL of its remote, and the last LFS error.

    ``sync_reason`` is the error of the last sync of a mirror; None for other repositories.
    """

    repository_id: int
    state: ImportState
    phase: str
    percent: int
    received: int
    reason: str
    created_at: datetime
    finished_at: datetime | None
    repeat: int
    url: str
    lfs_reason: str
    lfs_absent: str
    sync_reason: str | None


async def add(
    tx: Executor, repository_id: int, *, url: str, sealed: bytes | None, user_id: int, lfs_url: str | None
) -> None:
    """Insert the remote of a repository and a waiting import."""
    await tx.execute(
        remote.insert().values(
            repository_id=repository_id, url=url, sealed=sealed, user_id=user_id, lfs_url=lfs_url
        )
    )
    await tx.execute(
        migration.insert().values(repository_id=repository_id, state=ImportState.WAITING, created_at=now())
    )


async def get(db: Executor, repository_id: int) -> ImportRow | None:
    statement = (
        select(
            migration,
            remote.c.url,
            remote.c.lfs_reason,
            remote.c.lfs_absent,
            mirror.c.reason.label("sync_reason"),
        )
        .join(remote, remote.c.repository_id == migration.c.repository_id)
        .outerjoin(mirror, mirror.c.repository_id == migration.c.repository_id)
        .where(migration.c.repository_id == repository_id)
    )
    return await fetch_first(db, statement, ImportRow)


async def change(tx: Executor, repository_id: int, states: Collection[ImportState], **values: Any) -> bool:
    """Change an import in one of ``states``. Return whether it changed."""
    changed = await tx.execute(
        update(migration)
        .where(migration.c.repository_id == repository_id, migration.c.state.in_(states))
        .values(**values)
    )
    return changed.rowcount == 1


async def get_remote(db: Executor, repository_id: int) -> RemoteRow | None:
    return await fetch_first(db, select(remote).where(remote.c.repository_id == repository_id), RemoteRow)


async def record_lfs(tx: Executor, repository_id: int, reason: str, absent: Collection[str]) -> None:
    """Record the result of an LFS fetch: an error and missing objects. Both are empty after a success."""
    await change_remote(tx, repository_id, lfs_reason=reason, lfs_absent=", ".join(absent))


async def change_remote(tx: Executor, repository_id: int, **values: Any) -> None:
    await tx.execute(update(remote).where(remote.c.repository_id == repository_id).values(**values))
