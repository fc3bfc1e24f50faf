"""SQL for imports: the remote that a repository comes from, and how far its import is."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import now
from ingot_repos.store.states import ImportState
from ingot_repos.store.tables import migration, remote

UNENDED = (ImportState.WAITING, ImportState.RUNNING)


class RemoteRow(TypedRow):
    """``sealed`` holds user name and password."""

    repository_id: int
    url: str
    sealed: bytes | None
    user_id: int


class ImportRow(TypedRow):
    """An import and the URL of its remote."""

    repository_id: int
    state: ImportState
    phase: str
    percent: int
    received: int
    reason: str
    created_at: datetime
    finished_at: datetime | None
    url: str


async def add(tx: Executor, repository_id: int, *, url: str, sealed: bytes | None, user_id: int) -> None:
    """Insert the remote of a repository, and an import that waits."""
    await tx.execute(
        remote.insert().values(repository_id=repository_id, url=url, sealed=sealed, user_id=user_id)
    )
    await tx.execute(
        migration.insert().values(repository_id=repository_id, state=ImportState.WAITING, created_at=now())
    )


async def get(db: Executor, repository_id: int) -> ImportRow | None:
    statement = (
        select(migration, remote.c.url)
        .join(remote, remote.c.repository_id == migration.c.repository_id)
        .where(migration.c.repository_id == repository_id)
    )
    return await fetch_first(db, statement, ImportRow)


async def change(tx: Executor, repository_id: int, states: Collection[ImportState], **values: Any) -> bool:
    """Change an import that is in one of ``states``; whether it was."""
    changed = await tx.execute(
        update(migration)
        .where(migration.c.repository_id == repository_id, migration.c.state.in_(states))
        .values(**values)
    )
    return changed.rowcount == 1


async def get_remote(db: Executor, repository_id: int) -> RemoteRow | None:
    return await fetch_first(db, select(remote).where(remote.c.repository_id == repository_id), RemoteRow)


async def change_remote(tx: Executor, repository_id: int, **values: Any) -> None:
    await tx.execute(update(remote).where(remote.c.repository_id == repository_id).values(**values))
