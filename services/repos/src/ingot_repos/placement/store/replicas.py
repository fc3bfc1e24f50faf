"""SQL for replicas: current replicas, and replicas to copy or remove."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, delete, or_, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.catalog.store.tables import account, repository
from ingot_repos.placement.store.tables import push, replica

MOST_DUE = 100


class CurrentRow(TypedRow):
    """A replica that has all announced changes."""

    shard: str
    stamp: str


class ReplicaRow(TypedRow):
    """A replica with its repository. The columns of a deleted repository are None.

    ``copied_version`` is None before the first copy. ``source`` is the shard of the repository.
    """

    repository_id: int
    shard: str
    obsolete: bool
    copied_version: int | None
    stamp: str
    error: str
    failures: int
    owner_login: str | None
    name: str | None
    source: str | None
    ref_version: int | None
    default_branch: str | None


_IS_CURRENT = and_(
    ~replica.c.obsolete,
    replica.c.ref_version == repository.c.ref_version,
    replica.c.default_branch == repository.c.default_branch,
)


async def list_current(db: Executor, repository_id: int) -> Sequence[CurrentRow]:
    """List the replicas of a repository that may answer reads; none while refs may be moving."""
    moving = select(push.c.id).where(
        push.c.repository_id == repository_id, push.c.moves_refs, push.c.lease_until > now()
    )
    statement = (
        select(replica.c.shard, replica.c.stamp)
        .join(repository, repository.c.id == replica.c.repository_id)
        .where(replica.c.repository_id == repository_id, _IS_CURRENT, ~moving.exists())
    )
    return await fetch_all(db, statement, CurrentRow)


def _rows() -> Select[Any]:
    joined = replica.outerjoin(repository, repository.c.id == replica.c.repository_id)
    return select(
        replica.c.repository_id,
        replica.c.shard,
        replica.c.obsolete,
        replica.c.ref_version.label("copied_version"),
        replica.c.stamp,
        replica.c.error,
        replica.c.failures,
        account.c.login.label("owner_login"),
        repository.c.name,
        repository.c.shard.label("source"),
        repository.c.ref_version,
        repository.c.default_branch,
    ).select_from(joined.outerjoin(account, account.c.id == repository.c.owner_id))


def _is_due() -> ColumnElement[bool]:
    """Return the condition for replicas to update or remove. ``_when_due`` returns its parameters."""
    ended = or_(replica.c.obsolete, repository.c.id.is_(None), repository.c.shard == replica.c.shard)
    is_behind = and_(
        repository.c.state == bindparam("ready"),
        or_(replica.c.ref_version.is_(None), ~_IS_CURRENT),
    )
    return and_(replica.c.due_at <= bindparam("moment"), or_(ended, is_behind))


_OF_SHARD = replica.c.shard == bindparam("shard")


def _due(*, is_new: bool) -> PreparedQuery[ReplicaRow]:
    first = replica.c.ref_version.is_(None)
    statement = _rows().where(_OF_SHARD, first if is_new else ~first, _is_due())
    most = bindparam("most", type_=Integer)
    return PreparedQuery(statement.order_by(replica.c.due_at).limit(most), ReplicaRow)


_DUE = {is_new: _due(is_new=is_new) for is_new in (True, False)}
_ONE_DUE = PreparedQuery(
    _rows().where(replica.c.repository_id == bindparam("id"), _OF_SHARD, _is_due()), ReplicaRow
)


def _when_due() -> dict[str, Any]:
    return {"moment": now(), "ready": RepositoryState.READY}


async def list_due(db: Executor, shard: str, *, is_new: bool) -> Sequence[ReplicaRow]:
    """List due replicas of a shard. ``is_new``: replicas without a first copy; otherwise the others."""
    return await _DUE[is_new].all(db, shard=shard, most=MOST_DUE, **_when_due())


async def list_all(db: Executor, *, shard: str = "") -> Sequence[ReplicaRow]:
    """List all replicas, or all replicas of a shard."""
    statement = _rows().where(replica.c.shard == shard) if shard else _rows()
    return await fetch_all(db, statement.order_by(replica.c.repository_id, replica.c.shard), ReplicaRow)


async def has_any(db: Executor, shard: str) -> bool:
    """Return whether a shard has replicas."""
    return (
        await db.execute(select(replica.c.shard).where(replica.c.shard == shard).limit(1))
    ).first() is not None


async def get(db: Executor, repository_id: int, shard: str) -> ReplicaRow | None:
    return await fetch_first(
        db, _rows().where(replica.c.repository_id == repository_id, replica.c.shard == shard), ReplicaRow
    )


async def get_due(db: Executor, repository_id: int, shard: str) -> ReplicaRow | None:
    """Return a replica if it is still due, or None. See ``list_due``."""
    return await _ONE_DUE.first(db, id=repository_id, shard=shard, **_when_due())


async def add(tx: Tx, repository_id: int, shard: str) -> None:
    """Add a replica on the shard. An existing replica becomes due at once."""
    row = {"repository_id": repository_id, "shard": shard, "obsolete": False, "due_at": now()}
    await tx.execute(
        insert(tx, replica)
        .values(row)
        .on_conflict_do_update(index_elements=["repository_id", "shard"], set_={"due_at": now()})
    )


async def add_for_wiki(tx: Tx, wiki_id: int, repository_id: int) -> None:
    """Add a replica of a new wiki on each shard that has a replica of its repository."""
    statement = select(replica.c.shard).where(replica.c.repository_id == repository_id, ~replica.c.obsolete)
    for shard in (await tx.execute(statement)).scalars().all():
        await add(tx, wiki_id, shard)


async def retire(tx: Executor, shard: str, repository_id: int = 0) -> int:
    """Mark one replica, or all replicas of a shard, for removal. Return their number."""
    statement = update(replica).where(replica.c.shard == shard, ~replica.c.obsolete)
    if repository_id:
        statement = statement.where(replica.c.repository_id == repository_id)
    return (await tx.execute(statement.values(obsolete=True, due_at=now()))).rowcount


async def change(tx: Executor, repository_id: int, shard: str, **values: Any) -> bool:
    """Change columns of a replica that is not obsolete. Return False if none exists."""
    one = (replica.c.repository_id == repository_id, replica.c.shard == shard, ~replica.c.obsolete)
    return (await tx.execute(update(replica).where(*one).values(**values))).rowcount == 1


async def reset(tx: Executor, repository_id: int, shard: str) -> None:
    """Reset a replica whose files do not match its row. It does not answer reads until it is copied again."""
    await change(tx, repository_id, shard, ref_version=None, stamp="", due_at=now())


async def forget_obsolete(tx: Executor, shard: str) -> None:
    """Delete the rows of obsolete replicas of a shard that is removed together with its files."""
    await tx.execute(delete(replica).where(replica.c.shard == shard, replica.c.obsolete))


async def forget(tx: Executor, repository_id: int, shard: str) -> None:
    """Delete the row of a replica."""
    await tx.execute(
        delete(replica).where(replica.c.repository_id == repository_id, replica.c.shard == shard)
    )


async def postpone(tx: Executor, repository_id: int, shard: str, until: datetime) -> None:
    """Postpone the next update of a replica until that time."""
    one = (replica.c.repository_id == repository_id, replica.c.shard == shard)
    await tx.execute(update(replica).where(*one).values(due_at=until))


async def count_change(tx: Executor, repository_id: int) -> None:
    """Make replicas outdated after refs moved without an announcement, such as refs of pull requests."""
    has_any = select(replica.c.shard).where(replica.c.repository_id == repository_id).exists()
    statement = update(repository).where(repository.c.id == repository_id, has_any)
    await tx.execute(statement.values(ref_version=repository.c.ref_version + 1))
