"""SQL for replicas: which there are, which have all that was announced, and which have to be copied or removed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, delete, or_, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.transaction import Tx, insert
from ingot_repos.store.replica_tables import replica
from ingot_repos.store.states import RepositoryState
from ingot_repos.store.tables import account, push, repository

MOST_DUE = 100


class CurrentRow(TypedRow):
    """A replica that has all that was announced."""

    shard: str
    stamp: str


class ReplicaRow(TypedRow):
    """A replica, and its repository as it is now; of one that is gone nothing but the replica.

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
    """The replicas of a repository that may answer; none while refs of it may be moving."""
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
    """Of those that are not current, or have nothing to be a copy of; with the values of ``_when_due``."""
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
    """Replicas of a shard that have to be copied, or removed; those that were never copied, or the others."""
    return await _DUE[is_new].all(db, shard=shard, most=MOST_DUE, **_when_due())


async def list_all(db: Executor, *, shard: str = "") -> Sequence[ReplicaRow]:
    """Every replica, or those of a shard."""
    statement = _rows().where(replica.c.shard == shard) if shard else _rows()
    return await fetch_all(db, statement.order_by(replica.c.repository_id, replica.c.shard), ReplicaRow)


async def has_any(db: Executor, shard: str) -> bool:
    """Whether a shard has a replica of anything."""
    return (
        await db.execute(select(replica.c.shard).where(replica.c.shard == shard).limit(1))
    ).first() is not None


async def get(db: Executor, repository_id: int, shard: str) -> ReplicaRow | None:
    return await fetch_first(
        db, _rows().where(replica.c.repository_id == repository_id, replica.c.shard == shard), ReplicaRow
    )


async def get_due(db: Executor, repository_id: int, shard: str) -> ReplicaRow | None:
    """One of those that ``list_due`` gives, if it is still due."""
    return await _ONE_DUE.first(db, id=repository_id, shard=shard, **_when_due())


async def add(tx: Tx, repository_id: int, shard: str) -> None:
    """Let the shard have one. One that is there stays as it is, and is looked at soon."""
    row = {"repository_id": repository_id, "shard": shard, "obsolete": False, "due_at": now()}
    await tx.execute(
        insert(tx, replica)
        .values(row)
        .on_conflict_do_update(index_elements=["repository_id", "shard"], set_={"due_at": now()})
    )


async def retire(tx: Executor, shard: str, repository_id: int = 0) -> int:
    """Let the shard remove a replica, or all that it has; how many."""
    statement = update(replica).where(replica.c.shard == shard, ~replica.c.obsolete)
    if repository_id:
        statement = statement.where(replica.c.repository_id == repository_id)
    return (await tx.execute(statement.values(obsolete=True, due_at=now()))).rowcount


async def change(tx: Executor, repository_id: int, shard: str, **values: Any) -> bool:
    """Change columns of one that is not obsolete; whether there is it."""
    one = (replica.c.repository_id == repository_id, replica.c.shard == shard, ~replica.c.obsolete)
    return (await tx.execute(update(replica).where(*one).values(**values))).rowcount == 1


async def begin_anew(tx: Executor, repository_id: int, shard: str) -> None:
    """The files are not those that the row means: it answers no more, and is copied as a new one."""
    await change(tx, repository_id, shard, ref_version=None, stamp="", due_at=now())


async def forget_obsolete(tx: Executor, shard: str) -> None:
    """Remove the rows of those that a shard has to remove: the shard goes with their files."""
    await tx.execute(delete(replica).where(replica.c.shard == shard, replica.c.obsolete))


async def forget(tx: Executor, repository_id: int, shard: str) -> None:
    """Remove the row."""
    await tx.execute(
        delete(replica).where(replica.c.repository_id == repository_id, replica.c.shard == shard)
    )


async def put_off(tx: Executor, repository_id: int, shard: str, until: datetime) -> None:
    """Nobody looks at it before."""
    one = (replica.c.repository_id == repository_id, replica.c.shard == shard)
    await tx.execute(update(replica).where(*one).values(due_at=until))


async def count_change(tx: Executor, repository_id: int) -> None:
    """A ref may have moved that is not announced, such as that of a pull request: no replica has it yet."""
    has_any = select(replica.c.shard).where(replica.c.repository_id == repository_id).exists()
    statement = update(repository).where(repository.c.id == repository_id, has_any)
    await tx.execute(statement.values(ref_version=repository.c.ref_version + 1))
