"""SQL for LFS file locks."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import account
from ingot_repos.lfs.store.tables import lfs_lock


class LfsLockRow(TypedRow):
    """A lock of a file. ``owner_login`` is None if the account was deleted."""

    id: int
    repository_id: int
    path: str
    owner_id: int
    locked_at: datetime
    owner_login: str | None


class LockFilter(msgspec.Struct, frozen=True):
    """A filter for lists of locks. None matches every lock. ``after`` is the last id of the previous page."""

    path: str | None = None
    lock_id: int | None = None
    after: int = 0


_SELECT = select(lfs_lock, account.c.login.label("owner_login")).select_from(
    lfs_lock.outerjoin(account, account.c.id == lfs_lock.c.owner_id)
)


async def add(tx: Executor, repository_id: int, path: str, owner_id: int) -> bool:
    """Lock a path. Return False if it is already locked."""
    values = {"repository_id": repository_id, "path": path, "owner_id": owner_id, "locked_at": now()}
    return (await tx.execute(insert(tx, lfs_lock).values(values).on_conflict_do_nothing())).rowcount == 1


async def get(db: Executor, repository_id: int, lock_id: int) -> LfsLockRow | None:
    statement = _SELECT.where(lfs_lock.c.repository_id == repository_id, lfs_lock.c.id == lock_id)
    return await fetch_first(db, statement, LfsLockRow)


async def get_by_path(db: Executor, repository_id: int, path: str) -> LfsLockRow | None:
    statement = _SELECT.where(lfs_lock.c.repository_id == repository_id, lfs_lock.c.path == path)
    return await fetch_first(db, statement, LfsLockRow)


async def list_after(
    db: Executor, repository_id: int, lock_filter: LockFilter, most: int
) -> Sequence[LfsLockRow]:
    """List up to ``most`` locks of a repository by id."""
    statement = _SELECT.where(lfs_lock.c.repository_id == repository_id, lfs_lock.c.id > lock_filter.after)
    if lock_filter.path is not None:
        statement = statement.where(lfs_lock.c.path == lock_filter.path)
    if lock_filter.lock_id is not None:
        statement = statement.where(lfs_lock.c.id == lock_filter.lock_id)
    return await fetch_all(db, statement.order_by(lfs_lock.c.id).limit(most), LfsLockRow)


async def remove(tx: Executor, lock_id: int) -> bool:
    """Delete a lock. Return whether it existed."""
    return (await tx.execute(delete(lfs_lock).where(lfs_lock.c.id == lock_id))).rowcount == 1
