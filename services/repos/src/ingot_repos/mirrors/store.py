"""SQL for push mirrors."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_count, fetch_first, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.tables import repository
from ingot_repos.pushes.store.tables import push_mirror


class PushMirrorRow(TypedRow):
    """A push mirror. ``sealed`` has the encrypted user name and password.

    ``last_at`` is the end of the last run, ``reason`` its error.
    """

    id: int
    repository_id: int
    name: str
    url: str
    sealed: bytes | None
    user_id: int
    interval_seconds: int
    sync_on_commit: bool
    asked_at: datetime | None
    last_at: datetime | None
    reason: str
    failures: int
    created_at: datetime


class _DueRow(TypedRow):
    id: int
    shard: str


async def add(tx: Executor, repository_id: int, **values: Any) -> PushMirrorRow:
    statement = push_mirror.insert().values(repository_id=repository_id, created_at=now(), **values)
    [row] = await fetch_all(tx, statement.returning(push_mirror), PushMirrorRow)
    return row


async def get(db: Executor, mirror_id: int) -> PushMirrorRow | None:
    return await fetch_first(db, select(push_mirror).where(push_mirror.c.id == mirror_id), PushMirrorRow)


async def get_by_name(db: Executor, repository_id: int, name: str) -> PushMirrorRow | None:
    statement = select(push_mirror).where(
        push_mirror.c.repository_id == repository_id, push_mirror.c.name == name
    )
    return await fetch_first(db, statement, PushMirrorRow)


async def list_page(db: Executor, repository_id: int, page: Slice) -> tuple[Sequence[PushMirrorRow], int]:
    """List push mirrors of a repository, the oldest first."""
    statement = select(push_mirror).where(push_mirror.c.repository_id == repository_id)
    return await fetch_page(db, statement, page, PushMirrorRow, push_mirror.c.id)


async def list_all(db: Executor, repository_id: int) -> Sequence[PushMirrorRow]:
    """List all push mirrors of a repository. There are at most ``push_mirrors.MOST``."""
    statement = select(push_mirror).where(push_mirror.c.repository_id == repository_id)
    return await fetch_all(db, statement.order_by(push_mirror.c.id), PushMirrorRow)


async def count(db: Executor, repository_id: int) -> int:
    return await fetch_count(db, select(push_mirror).where(push_mirror.c.repository_id == repository_id))


_ON_COMMIT = PreparedQuery(
    select(push_mirror.c.id, repository.c.shard)
    .join(repository, repository.c.id == push_mirror.c.repository_id)
    .where(
        push_mirror.c.repository_id == bindparam("of", type_=BigId), push_mirror.c.sync_on_commit.is_(True)
    ),
    _DueRow,
)


async def list_on_commit(db: Executor, repository_id: int) -> Sequence[_DueRow]:
    """List id and shard of push mirrors that follow every push."""
    return await _ON_COMMIT.all(db, of=repository_id)


async def change(tx: Executor, mirror_id: int, **values: Any) -> None:
    await tx.execute(update(push_mirror).where(push_mirror.c.id == mirror_id).values(**values))


async def remove(tx: Executor, repository_id: int, name: str) -> bool:
    """Delete a push mirror. Return whether it existed."""
    removed = await tx.execute(
        delete(push_mirror).where(push_mirror.c.repository_id == repository_id, push_mirror.c.name == name)
    )
    return removed.rowcount == 1
