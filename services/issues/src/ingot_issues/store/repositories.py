"""SQL for the copies of repositories."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, select, update

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import Tx, insert
from ingot_contracts.repos import Permission, Repository
from ingot_issues.store import comments, counters
from ingot_issues.store.issues import repository_of
from ingot_issues.store.tables import issue, label, milestone, repository, tracked_time

CALLER_FIELDS: Mapping[str, Any] = {
    "permissions": Permission(),
    "parent": None,
    "original_url": "",
    "mirror_interval": "",
    "mirror_updated": None,
    "mirror_last_sync_at": None,
}
"""The fields of a repository that only its reader may know, with the values that copies, events and answers have."""


class ViewRow(TypedRow):
    """The copy of a repository, as JSON."""

    view: bytes


async def get(db: Executor, repository_id: int) -> Repository | None:
    view = (await db.execute(select(repository.c.view).where(repository.c.id == repository_id))).scalar()
    return repository_of(view) if view is not None else None


_VIEWS = PreparedQuery(select(repository.c.view).where(any_of(repository.c.id, "ids")), ViewRow)


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Repository]:
    """The copies of these repositories, by id. Not every repository has one."""
    if not ids:
        return {}
    views = [repository_of(row.view) for row in await _VIEWS.all(db, ids=list(ids))]
    return {view.id: view for view in views}


async def get_fork_id(db: Executor, parent_id: int, owner_id: int) -> int | None:
    """The id of the fork that an account has of a repository."""
    statement = select(repository.c.id).where(
        repository.c.parent_id == parent_id, repository.c.owner_id == owner_id
    )
    return (await db.execute(statement.limit(1))).scalar()


async def save(db: Executor, view: Repository) -> None:
    """Insert or renew the copy of a repository, as an event has it. The next event is compared with it."""
    values = _values(view)
    statement = insert(db, repository).values(values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def add_missing(db: Executor, view: Repository) -> None:
    """Insert a copy of a repository, unless there is one. A copy that exists is read without a lock."""
    if (await db.execute(select(repository.c.id).where(repository.c.id == view.id))).scalar() is None:
        await db.execute(insert(db, repository).values(_values(view)).on_conflict_do_nothing())


@cache
def _renewal(names: tuple[str, ...]) -> PreparedWrite:
    """For each push: with the parent or without it."""
    new = {name: bindparam(f"new_{name}", type_=repository.c[name].type) for name in names}
    return PreparedWrite(
        update(repository).where(repository.c.id == bindparam("of", type_=BigId)).values(new)
    )


async def renew(db: Executor, view: Repository) -> None:
    """Renew the copy of a repository, as an event has it, if there is one."""
    values = _values(view)
    await _renewal(tuple(values)).run(db, of=view.id, **{f"new_{name}": values[name] for name in values})


async def remove(tx: Tx, repository_id: int) -> None:
    """Remove everything of a repository, and refuse the repository from now on."""
    await counters.lock(tx, repository_id)
    await comments.remove_all(tx, repository_id)
    for table in (tracked_time, issue, label, milestone):
        await tx.execute(delete(table).where(table.c.repository_id == repository_id))
    await tx.execute(delete(repository).where(repository.c.id == repository_id))
    await counters.close(tx, repository_id)


def _values(view: Repository) -> dict[str, int | bytes]:
    """The columns to write. Not every view has the parent, so a parent that is stored already stays."""
    copy = msgspec.structs.replace(view, **CALLER_FIELDS)
    values: dict[str, int | bytes] = {
        "id": view.id,
        "owner_id": view.owner.id,
        "view": msgspec.json.encode(copy),
        "has_issues": view.has_issues,
        "has_pulls": view.has_pull_requests,
    }
    if view.parent:
        values["parent_id"] = view.parent.id
    return values
