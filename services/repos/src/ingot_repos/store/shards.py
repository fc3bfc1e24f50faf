"""SQL for shards: where repositories are, what each shard has, and how repositories change from one to another."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, or_, select, union_all, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import Tx, insert
from ingot_chassis.jobs.jobs import Job, JobState
from ingot_repos.store.lfs_tables import lfs_link, lfs_object
from ingot_repos.store.load_tables import repository_load
from ingot_repos.store.loads import recent_requests
from ingot_repos.store.replica_tables import replica
from ingot_repos.store.shard_tables import shard
from ingot_repos.store.states import RepositoryState, ShardState
from ingot_repos.store.tables import account, metadata, push, push_mirror, repository, tombstone


class PlaceRow(TypedRow):
    shard: str


class ShardRow(TypedRow):
    name: str
    url: str
    state: ShardState


class UsageRow(TypedRow):
    """What a shard has; ``requests`` of git clients, of today and yesterday."""

    shard: str
    repositories: int
    bytes: int
    requests: int


class MemberRow(TypedRow):
    """A repository among its forks and their parents; ``owner_login`` is None while the account has no copy.

    ``requests`` of git clients, of today and yesterday.
    """

    id: int
    name: str
    owner_login: str | None
    fork_of: int | None
    shard: str
    state: RepositoryState
    default_branch: str
    size: int
    requests: int


_PLACE = select(repository.c.shard).where(repository.c.id == bindparam("repository_id", type_=BigId))
_READ, _LOCK_FOR_SHARE = (
    PreparedQuery(_PLACE, PlaceRow),
    PreparedQuery(_PLACE.with_for_update(read=True), PlaceRow),
)


async def place(db: Executor, repository_id: int) -> PlaceRow | None:
    """Where a repository is now."""
    return await _READ.first(db, repository_id=repository_id)


async def hold(tx: Executor, repository_id: int) -> PlaceRow | None:
    """The same, locked for share: until the transaction ends nobody locks or moves the repository."""
    return await _LOCK_FOR_SHARE.first(tx, repository_id=repository_id)


def stays(at: datetime | ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether nobody has locked the repository to move it, at that time."""
    return or_(repository.c.locked_until.is_(None), repository.c.locked_until <= at)


async def shard_with_files(db: Executor, repository_id: int) -> str | None:
    """The shard of a repository, also of a deleted one whose files are still there."""
    statement = union_all(
        select(repository.c.shard).where(repository.c.id == repository_id),
        select(tombstone.c.shard).where(tombstone.c.repository_id == repository_id),
    )
    return (await db.execute(statement)).scalar()


async def lock(tx: Executor, ids: Collection[int], source: str, until: datetime) -> bool:
    """Keep the files of these repositories from changing; whether all of them are on that shard."""
    statement = update(repository).where(repository.c.id.in_(ids), repository.c.shard == source)
    return (await tx.execute(statement.values(locked_until=until))).rowcount == len(ids)


async def unlock(tx: Executor, ids: Collection[int], until: datetime) -> None:
    """End that lock, unless it is another one by now."""
    statement = update(repository).where(repository.c.id.in_(ids), repository.c.locked_until == until)
    await tx.execute(statement.values(locked_until=None))


async def change(
    tx: Executor, ids: Collection[int], source: str, target: str, until: datetime, least: datetime
) -> bool:
    """Put repositories that are locked ``until`` then on another shard; whether all were, and ``least`` is before.

    When a lock is over, its time is still there, but a push may have begun.
    """
    statement = update(repository).where(
        repository.c.id.in_(ids),
        repository.c.shard == source,
        repository.c.locked_until == until,
        repository.c.locked_until > least,
    )
    return (await tx.execute(statement.values(shard=target, locked_until=None))).rowcount == len(ids)


async def has_pushes(db: Executor, ids: Collection[int]) -> bool:
    """Whether one of the repositories is in the journal."""
    return (
        await db.execute(select(push.c.id).where(push.c.repository_id.in_(ids)).limit(1))
    ).first() is not None


_WITH_LOAD = repository.outerjoin(repository_load, repository_load.c.repository_id == repository.c.id)


def _members() -> Select[Any]:
    return select(
        repository.c.id,
        repository.c.name,
        account.c.login.label("owner_login"),
        repository.c.fork_of,
        repository.c.shard,
        repository.c.state,
        repository.c.default_branch,
        repository.c.size,
        recent_requests().label("requests"),
    ).select_from(_WITH_LOAD.outerjoin(account, account.c.id == repository.c.owner_id))


async def network(db: Executor, repository_id: int) -> Sequence[MemberRow]:
    """The repository, its parents, and all their forks, by id; none when it is not there."""
    members: dict[int, MemberRow] = {}
    visited, frontier = set[int](), {repository_id}
    while frontier:
        statement = _members().where(or_(repository.c.id.in_(frontier), repository.c.fork_of.in_(frontier)))
        rows = [row for row in await fetch_all(db, statement, MemberRow) if row.id not in members]
        members |= {row.id: row for row in rows}
        visited |= frontier
        frontier = {row.id for row in rows} | {row.fork_of for row in rows if row.fork_of is not None}
        frontier -= visited
    return sorted(members.values(), key=lambda row: row.id)


async def find(db: Executor, owner: str, name: str) -> int | None:
    """The id of a repository."""
    statement = (
        select(repository.c.id)
        .join(account, account.c.id == repository.c.owner_id)
        .where(account.c.lower_login == owner.lower(), repository.c.lower_name == name.lower())
    )
    return (await db.execute(statement)).scalar()


async def list_on(db: Executor, name: str, *, after: int, most: int) -> Sequence[int]:
    """Ids of the first repositories of a shard that are greater than ``after``."""
    statement = select(repository.c.id).where(repository.c.shard == name, repository.c.id > after)
    return (await db.execute(statement.order_by(repository.c.id).limit(most))).scalars().all()


async def list_largest_on(db: Executor, name: str, *, most: int) -> Sequence[int]:
    """Ids of repositories of a shard, the largest first."""
    statement = select(repository.c.id).where(repository.c.shard == name)
    return (await db.execute(statement.order_by(repository.c.size.desc()).limit(most))).scalars().all()


async def list_busiest_on(db: Executor, name: str, *, most: int) -> Sequence[int]:
    """Those of which git clients asked most, today and yesterday."""
    statement = select(repository.c.id).select_from(_WITH_LOAD).where(repository.c.shard == name)
    statement = statement.where(recent_requests() > 0).order_by(recent_requests().desc()).limit(most)
    return (await db.execute(statement)).scalars().all()


async def usage(db: Executor) -> dict[str, UsageRow]:
    """What each shard has that has anything."""
    statement = (
        select(
            repository.c.shard,
            func.count().label("repositories"),
            func.coalesce(func.sum(repository.c.size), 0).label("bytes"),
            func.coalesce(func.sum(recent_requests()), 0).label("requests"),
        )
        .select_from(_WITH_LOAD)
        .group_by(repository.c.shard)
    )
    return {row.shard: row for row in await fetch_all(db, statement, UsageRow)}


async def list_added(db: Executor) -> dict[str, ShardRow]:
    """The shards that were added, by name."""
    return {row.name: row for row in await fetch_all(db, select(shard), ShardRow)}


async def get(db: Executor, name: str) -> ShardRow | None:
    return await fetch_first(db, select(shard).where(shard.c.name == name), ShardRow)


async def save(tx: Tx, name: str, **values: Any) -> None:
    """Add a shard, or change columns of it."""
    added = {"name": name, "url": "", "state": ShardState.ACTIVE, "added_at": now()} | values
    statement = insert(tx, shard).values(added)
    await tx.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"state": added["state"]} | values)
    )


async def holdings(db: Executor, name: str) -> Mapping[str, int]:
    """How much a shard holds of each kind of thing. Replicas that it has to remove are nothing that anybody needs."""
    counts = {}
    for what, table, *conditions in (
        ("repositories", repository),
        ("deleted repositories", tombstone),
        ("replicas", replica, ~replica.c.obsolete),
        ("objects of LFS", lfs_object),
    ):
        statement = select(func.count()).select_from(table).where(table.c.shard == name, *conditions)
        counts[what] = int((await db.execute(statement)).scalar_one())
    return counts


class LinkedRow(TypedRow):
    """An object of LFS that a repository has on one shard."""

    oid: str
    size: int
    uuid: str


def _objects_on(name: str) -> Select[tuple[int]]:
    return select(lfs_object.c.id).where(lfs_object.c.shard == name)


async def list_objects_to_copy(
    db: Executor, repository_id: int, source: str, target: str
) -> Sequence[LinkedRow]:
    """Objects of LFS that the repository has on the source, and not yet on the target."""
    has = select(lfs_link.c.object_id).where(lfs_link.c.repository_id == repository_id)
    copied = select(lfs_object.c.oid).where(lfs_object.c.shard == target, lfs_object.c.id.in_(has))
    statement = select(lfs_object.c.oid, lfs_object.c.size, lfs_object.c.uuid).where(
        lfs_object.c.shard == source, lfs_object.c.id.in_(has), lfs_object.c.oid.not_in(copied)
    )
    return await fetch_all(db, statement, LinkedRow)


async def unlink_objects(tx: Executor, ids: Collection[int], name: str) -> None:
    """These repositories have no objects of LFS on that shard any more."""
    await tx.execute(
        delete(lfs_link).where(lfs_link.c.repository_id.in_(ids), lfs_link.c.object_id.in_(_objects_on(name)))
    )


async def push_mirror_ids(db: Executor, ids: Collection[int]) -> Sequence[int]:
    statement = select(push_mirror.c.id).where(push_mirror.c.repository_id.in_(ids))
    return (await db.execute(statement)).scalars().all()


class JobStateRow(TypedRow):
    """How a job is getting on; ``progress`` is JSON, as the payload."""

    kind: str
    key: str
    payload: bytes
    state: JobState
    progress: str | None
    last_error: str | None


_JOB = metadata.tables["job"]
_UNDER_WAY = _JOB.c.state.in_((JobState.WAITING, JobState.RUNNING))


async def move_jobs(tx: Executor, source_kind: str, target_kind: str, keys: Collection[str]) -> None:
    """Let waiting jobs be of another kind. One that runs finds out by itself."""
    ended = delete(_JOB).where(_JOB.c.kind == target_kind, _JOB.c.key.in_(keys), ~_UNDER_WAY)
    await tx.execute(ended)
    there = _JOB.alias("there")
    is_there = select(there.c.id).where(there.c.kind == target_kind, there.c.key == _JOB.c.key).exists()
    waiting = (_JOB.c.kind == source_kind) & _JOB.c.key.in_(keys) & (_JOB.c.state == JobState.WAITING)
    await tx.execute(update(_JOB).where(waiting, ~is_there).values(kind=target_kind))


async def report(tx: Executor, job: Job, progress: str) -> None:
    """Note how far a job is, for as long as it is leased."""
    await tx.execute(
        update(_JOB).where(_JOB.c.id == job.id, _JOB.c.fence == job.fence).values(progress=progress)
    )


async def payload_of(tx: Executor, job: Job) -> bytes:
    """The payload of a job as it is now, which stays until the transaction ends."""
    statement = select(_JOB.c.payload).where(_JOB.c.id == job.id).with_for_update()
    return (await tx.execute(statement)).scalar() or b""


async def replace_payload(tx: Executor, kind: str, key: str, payload: bytes, run_at: datetime) -> bool:
    """Give a job that waits or runs another payload and another time; False when it has ended."""
    statement = update(_JOB).where(_JOB.c.kind == kind, _JOB.c.key == key, _UNDER_WAY)
    return (await tx.execute(statement.values(payload=payload, run_at=run_at))).rowcount == 1


async def get_job(db: Executor, kind: str, key: str) -> JobStateRow | None:
    return await fetch_first(db, select(_JOB).where(_JOB.c.kind == kind, _JOB.c.key == key), JobStateRow)


async def list_jobs(db: Executor, *, before: str = "", after: str = "") -> Sequence[JobStateRow]:
    """Jobs that wait or run, of kinds that begin and end so."""
    of_kind = _JOB.c.kind.startswith(before, autoescape=True) & _JOB.c.kind.endswith(after, autoescape=True)
    return await fetch_all(db, select(_JOB).where(of_kind, _UNDER_WAY).order_by(_JOB.c.id), JobStateRow)
