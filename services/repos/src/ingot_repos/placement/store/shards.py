"""SQL for shards: their rows, and the shard of a repository."""

from typing import Any

from sqlalchemy import bindparam, select, union_all

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.catalog.store.states import ShardState
from ingot_repos.catalog.store.tables import repository
from ingot_repos.placement.store.tables import shard, tombstone


class PlaceRow(TypedRow):
    """The shard with the files of a repository or wiki, and the version of its ledger."""

    shard: str
    ref_version: int


class ShardRow(TypedRow):
    name: str
    url: str
    state: ShardState


_PLACE = select(repository.c.shard, repository.c.ref_version).where(
    repository.c.id == bindparam("repository_id", type_=BigId)
)
_READ, _LOCK_FOR_SHARE = (
    PreparedQuery(_PLACE, PlaceRow),
    PreparedQuery(_PLACE.with_for_update(read=True), PlaceRow),
)


async def place(db: Executor, repository_id: int) -> PlaceRow | None:
    """Return the current shard of a repository, or None."""
    return await _READ.first(db, repository_id=repository_id)


async def lock_for_share(tx: Executor, repository_id: int) -> PlaceRow | None:
    """Lock the row of a repository for share. Return its shard, or None.

    The repository cannot move until the transaction ends.
    """
    return await _LOCK_FOR_SHARE.first(tx, repository_id=repository_id)


async def shard_with_files(db: Executor, repository_id: int) -> str | None:
    """Return the shard of a repository, including a deleted one that still has files."""
    statement = union_all(
        select(repository.c.shard).where(repository.c.id == repository_id),
        select(tombstone.c.shard).where(tombstone.c.repository_id == repository_id),
    )
    return (await db.execute(statement)).scalar()


_ALL = PreparedQuery(select(shard), ShardRow)


async def list_added(db: Executor) -> dict[str, ShardRow]:
    """Return the shards that operators added, by name."""
    return {row.name: row for row in await _ALL.all(db)}


async def get(db: Executor, name: str) -> ShardRow | None:
    return await fetch_first(db, select(shard).where(shard.c.name == name), ShardRow)


async def save(tx: Tx, name: str, **values: Any) -> None:
    """Add a shard, or change columns of an existing shard."""
    added = {"name": name, "url": "", "state": ShardState.ACTIVE, "added_at": now()} | values
    statement = insert(tx, shard).values(added)
    await tx.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"state": added["state"]} | values)
    )
