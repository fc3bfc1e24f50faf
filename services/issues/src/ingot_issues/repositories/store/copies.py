"""SQL for the copies of repositories."""

from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, select, update

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_contracts.repos.access import Permission
from ingot_contracts.repos.repositories import Repository
from ingot_issues.repositories.store.tables import repository

_DECODED = 512
"""Maximum number of cached decoded copies. Many pull requests have heads in the same repositories."""
CALLER_FIELDS: Mapping[str, Any] = {
    "permissions": Permission(),
    "parent": None,
    "original_url": "",
    "mirror_interval": "",
    "mirror_updated": None,
    "mirror_last_sync_at": None,
}
"""Fields of a repository that depend on the reader, with their values in copies, events and answers."""


class ViewRow(TypedRow):
    """The copy of a repository, as JSON."""

    view: bytes


async def get(db: Executor, repository_id: int) -> Repository | None:
    view = (await db.execute(select(repository.c.view).where(repository.c.id == repository_id))).scalar()
    return repository_of(view) if view is not None else None


_VIEWS = PreparedQuery(select(repository.c.view).where(any_of(repository.c.id, "ids")), ViewRow)


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Repository]:
    """Return the copies of these repositories, by id. Repositories without a copy are omitted."""
    if not ids:
        return {}
    views = [repository_of(row.view) for row in await _VIEWS.all(db, ids=list(ids))]
    return {view.id: view for view in views}


async def get_fork_id(db: Executor, parent_id: int, owner_id: int) -> int | None:
    """Return the id of the fork of a repository that an account owns, or None."""
    statement = select(repository.c.id).where(
        repository.c.parent_id == parent_id, repository.c.owner_id == owner_id
    )
    return (await db.execute(statement.limit(1))).scalar()


async def save(db: Executor, view: Repository) -> None:
    """Insert or update the copy of a repository from an event. Handlers compare the next event with it."""
    values = _values(view)
    statement = insert(db, repository).values(values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def add_missing(db: Executor, view: Repository) -> None:
    """Insert a copy of a repository unless one exists. Reading an existing copy takes no lock."""
    if (await db.execute(select(repository.c.id).where(repository.c.id == view.id))).scalar() is None:
        await db.execute(insert(db, repository).values(_values(view)).on_conflict_do_nothing())


@cache
def _renewal(names: tuple[str, ...]) -> PreparedWrite:
    """Prepare the update of a copy, with or without the column of the parent."""
    new = {name: bindparam(f"new_{name}", type_=repository.c[name].type) for name in names}
    return PreparedWrite(
        update(repository).where(repository.c.id == bindparam("of", type_=BigId)).values(new)
    )


async def renew(db: Executor, view: Repository) -> None:
    """Update the copy of a repository from an event, if a copy exists."""
    values = _values(view)
    await _renewal(tuple(values)).run(db, of=view.id, **{f"new_{name}": values[name] for name in values})


async def remove(db: Executor, repository_id: int) -> None:
    """Delete the copy of a repository."""
    await db.execute(delete(repository).where(repository.c.id == repository_id))


def _values(view: Repository) -> dict[str, int | bytes]:
    """Return the columns to write. A parent is omitted if the view lacks it, so a stored parent is kept."""
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


@lru_cache(_DECODED)
def repository_of(view: bytes) -> Repository:
    """Return the decoded copy of a repository."""
    return msgspec.json.decode(view, type=Repository)
