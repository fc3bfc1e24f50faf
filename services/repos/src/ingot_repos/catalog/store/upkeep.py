"""The table with the last pack and the last check of each repository, and its SQL.

The table belongs to upkeep. Pushes and moves between shards use it as well.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, ForeignKey, Table, Text, func, or_, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.catalog.store.repositories import stays
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.catalog.store.tables import account, metadata, repository

upkeep = Table(
    "upkeep",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # The ref_version of the repository when its packs were last made.
    Column("packed_version", BigInteger, nullable=False, default=0),
    Column("packed_at", UtcDateTime),
    # When objects that no ref needs may be removed; NULL while there are none.
    Column("prune_at", UtcDateTime, index=True),
    Column("checked_at", UtcDateTime, index=True),
    # What git said of its objects; empty: they are sound.
    Column("damage", Text, nullable=False, default=""),
)
"""When each repository was packed and checked last."""


WRITES = 20
"""Number of pushes after which a repository is packed at once; with fewer it is packed daily."""
MANY_REFS = 500
"""A push of more refs counts as that many pushes: every fetch reads a file for each unpacked ref."""


class HealthRow(TypedRow):
    """The health of a shard. ``unchecked`` repositories were never checked.

    ``oldest_check`` ignores them. It is None if no repository was checked.
    """

    damaged: int
    unchecked: int
    oldest_check: datetime | None


class DamageRow(TypedRow):
    """A damaged repository. ``owner_login`` is None while the account has no copy."""

    repository_id: int
    name: str
    owner_login: str | None
    damage: str


_OF_REPOSITORY = repository.outerjoin(upkeep, upkeep.c.repository_id == repository.c.id)
_UNPACKED = repository.c.ref_version - func.coalesce(upkeep.c.packed_version, 0)


def _on_shard(shard: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return repository.c.shard == shard, repository.c.state == RepositoryState.READY


async def list_to_pack(db: Executor, shard: str, *, packed_before: datetime, most: int) -> Sequence[int]:
    """Return the ids of repositories to pack, the repositories with the most pushes first.

    A repository is due after ``WRITES`` pushes, and after one push if it was packed before ``packed_before``.
    It is also due when objects may be pruned. Repositories that a move has locked are skipped.
    """
    due = or_(
        _UNPACKED >= WRITES,
        (_UNPACKED > 0) & or_(upkeep.c.packed_at.is_(None), upkeep.c.packed_at < packed_before),
        upkeep.c.prune_at < now(),
    )
    statement = (
        select(repository.c.id).select_from(_OF_REPOSITORY).where(*_on_shard(shard), stays(now()), due)
    )
    return (await db.execute(statement.order_by(_UNPACKED.desc()).limit(most))).scalars().all()


async def list_to_check(db: Executor, shard: str, *, before: datetime, most: int) -> Sequence[int]:
    """Return ids of repositories not checked since that time. Repositories never checked come first."""
    due = or_(upkeep.c.checked_at.is_(None), upkeep.c.checked_at < before)
    statement = select(repository.c.id).select_from(_OF_REPOSITORY).where(*_on_shard(shard), due)
    order = (upkeep.c.checked_at.is_not(None), upkeep.c.checked_at, repository.c.id)
    return (await db.execute(statement.order_by(*order).limit(most))).scalars().all()


async def save(tx: Tx, repository_id: int, **values: Any) -> None:
    """Store the results of upkeep. Other columns keep their values."""
    statement = insert(tx, upkeep).values({"repository_id": repository_id, **values})
    await tx.execute(statement.on_conflict_do_update(index_elements=["repository_id"], set_=values))


async def health(db: Executor, shard: str) -> HealthRow | None:
    """Return the numbers of damaged and never checked repositories of a shard, and the oldest check."""
    statement = (
        select(
            func.count().filter(upkeep.c.damage != "").label("damaged"),
            func.count().filter(upkeep.c.checked_at.is_(None)).label("unchecked"),
            func.min(upkeep.c.checked_at).label("oldest_check"),
        )
        .select_from(_OF_REPOSITORY)
        .where(*_on_shard(shard))
    )
    return await fetch_first(db, statement, HealthRow)


async def list_damaged(db: Executor, shard: str, most: int) -> Sequence[DamageRow]:
    """Return repositories of a shard that were damaged at their last check."""
    statement = (
        select(
            upkeep.c.repository_id,
            repository.c.name,
            account.c.login.label("owner_login"),
            upkeep.c.damage,
        )
        .select_from(_OF_REPOSITORY.outerjoin(account, account.c.id == repository.c.owner_id))
        .where(*_on_shard(shard), upkeep.c.damage != "")
    )
    return await fetch_all(db, statement.order_by(upkeep.c.repository_id).limit(most), DamageRow)
