"""SQL for wikis: rows of repositories without an account as their owner (ADR 34).

Queries for callers join the account of the owner, so they find no wiki. Queries about files find it by its
id, like any repository.
"""

from typing import Any, get_type_hints

from sqlalchemy import bindparam, delete, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.catalog.store.tables import repository

NO_OWNER = 0
"""The owner's id in the row of a wiki. No account has this id."""


class WikiRow(TypedRow):
    """The columns of a wiki that differ from the columns of its repository."""

    id: int
    wiki_of: int
    shard: str
    state: RepositoryState
    default_branch: str
    empty: bool
    size: int
    ref_version: int


_COLUMNS = [repository.c[name] for name in get_type_hints(WikiRow)]
_OF = PreparedQuery(
    select(*_COLUMNS).where(repository.c.wiki_of == bindparam("repository_id", type_=BigId)), WikiRow
)


def as_repository(row: RepositoryRow, wiki: WikiRow) -> RepositoryRow:
    """Return the wiki as a repository: its own files, with owner, visibility and grants of ``row``.

    The wiki of a mirror is not copied from the remote, so it accepts changes.
    """
    joined = RepositoryRow()
    joined.__dict__.update({name: getattr(row, name) for name in get_type_hints(RepositoryRow)})
    joined.__dict__.update({name: getattr(wiki, name) for name in get_type_hints(WikiRow)})
    joined.__dict__.update(name=f"{row.name}.wiki", lower_name=f"{row.lower_name}.wiki", mirror=False)
    return joined


async def get(db: Executor, repository_id: int) -> WikiRow | None:
    """Return the wiki of a repository in any state. None before its first page."""
    return await _OF.first(db, repository_id=repository_id)


async def add(tx: Tx, repository_id: int, *, shard: str, default_branch: str) -> int | None:
    """Insert a wiki without files and return its id; None if the repository already has a wiki."""
    name = f"{repository_id}.wiki"
    values: dict[str, Any] = {
        "owner_id": NO_OWNER,
        "name": name,
        "lower_name": name,
        "wiki_of": repository_id,
        "shard": shard,
        "default_branch": default_branch,
        "state": RepositoryState.CREATING,
        "created_at": now(),
        "updated_at": now(),
    }
    statement = insert(tx, repository).values(values).on_conflict_do_nothing().returning(repository.c.id)
    return (await tx.execute(statement)).scalar()


async def mark_ready(tx: Tx, wiki_id: int) -> None:
    """Record that the files of the wiki exist."""
    await tx.execute(update(repository).where(repository.c.id == wiki_id).values(state=RepositoryState.READY))


async def remove(tx: Tx, repository_id: int) -> WikiRow | None:
    """Delete the wiki of a repository and all rows that refer to it.

    Return its row, or None without a wiki.
    """
    statement = delete(repository).where(repository.c.wiki_of == repository_id).returning(*_COLUMNS)
    return await fetch_first(tx, statement, WikiRow)
