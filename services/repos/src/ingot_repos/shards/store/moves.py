"""SQL for moves between shards: networks, locks, contents and jobs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, or_, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.jobs.jobs import Job, JobState
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.catalog.store.tables import account, metadata, repository
from ingot_repos.lfs.store.tables import lfs_link, lfs_object
from ingot_repos.organization_exports.store import exported_repository, organization_export
from ingot_repos.placement.store.loads import recent_requests, repository_load
from ingot_repos.placement.store.tables import push, replica, tombstone
from ingot_repos.pushes.store.tables import push_mirror


class UsageRow(TypedRow):
    """The contents of a shard. ``requests`` counts requests of git clients today and yesterday."""

    shard: str
    repositories: int
    bytes: int
    requests: int


class MemberRow(TypedRow):
    """A repository of a network. ``owner_login`` is None if the account has no copy.

    ``requests`` counts requests of git clients today and yesterday.
    """

    id: int
    name: str
    owner_login: str | None
    fork_of: int | None
    wiki_of: int | None
    shard: str
    state: RepositoryState
    default_branch: str
    size: int
    requests: int


_WITH_LOAD = repository.outerjoin(repository_load, repository_load.c.repository_id == repository.c.id)


class LinkedRow(TypedRow):
    """An LFS object that a repository has on one shard."""

    oid: str
    size: int
    uuid: str


class JobStateRow(TypedRow):
    """The state of a job. ``progress`` and payload are JSON."""

    kind: str
    key: str
    payload: bytes
    state: JobState
    progress: str | None
    last_error: str | None


_JOB = metadata.tables["job"]


_UNDER_WAY = _JOB.c.state.in_((JobState.WAITING, JobState.RUNNING))


async def lock(tx: Executor, ids: Collection[int], source: str, until: datetime) -> bool:
    """Lock the files of repositories against changes. Return whether all are on ``source``."""
    statement = update(repository).where(repository.c.id.in_(ids), repository.c.shard == source)
    return (await tx.execute(statement.values(locked_until=until))).rowcount == len(ids)


async def unlock(tx: Executor, ids: Collection[int], until: datetime) -> None:
    """End the lock, unless it was replaced by another one."""
    statement = update(repository).where(repository.c.id.in_(ids), repository.c.locked_until == until)
    await tx.execute(statement.values(locked_until=None))


async def change(
    tx: Executor, ids: Collection[int], source: str, target: str, until: datetime, least: datetime
) -> bool:
    """Change the shard of repositories that are locked until ``until``. Return whether all were locked.

    The lock must end after ``least``: an expired lock keeps its time in the row, but a push may have begun.
    """
    statement = update(repository).where(
        repository.c.id.in_(ids),
        repository.c.shard == source,
        repository.c.locked_until == until,
        repository.c.locked_until > least,
    )
    return (await tx.execute(statement.values(shard=target, locked_until=None))).rowcount == len(ids)


async def has_pushes(db: Executor, ids: Collection[int]) -> bool:
    """Return whether one of the repositories is in the journal."""
    return (
        await db.execute(select(push.c.id).where(push.c.repository_id.in_(ids)).limit(1))
    ).first() is not None


def _members() -> Select[Any]:
    return select(
        repository.c.id,
        repository.c.name,
        account.c.login.label("owner_login"),
        repository.c.fork_of,
        repository.c.wiki_of,
        repository.c.shard,
        repository.c.state,
        repository.c.default_branch,
        repository.c.size,
        recent_requests().label("requests"),
    ).select_from(_WITH_LOAD.outerjoin(account, account.c.id == repository.c.owner_id))


async def network(db: Executor, repository_id: int) -> Sequence[MemberRow]:
    """Return the repository, its parents, all forks and their wikis, ordered by id.

    Empty if it does not exist.
    """
    members: dict[int, MemberRow] = {}
    visited, frontier = set[int](), {repository_id}
    while frontier:
        columns = (repository.c.id, repository.c.fork_of, repository.c.wiki_of)
        statement = _members().where(or_(*(column.in_(frontier) for column in columns)))
        rows = [row for row in await fetch_all(db, statement, MemberRow) if row.id not in members]
        members |= {row.id: row for row in rows}
        visited |= frontier
        related = {id_ for row in rows for id_ in (row.fork_of, row.wiki_of) if id_ is not None}
        frontier = {row.id for row in rows} | related
        frontier -= visited
    return sorted(members.values(), key=lambda row: row.id)


async def find(db: Executor, owner: str, name: str) -> int | None:
    """Return the id of a repository, or None."""
    statement = (
        select(repository.c.id)
        .join(account, account.c.id == repository.c.owner_id)
        .where(account.c.lower_login == owner.lower(), repository.c.lower_name == name.lower())
    )
    return (await db.execute(statement)).scalar()


async def list_on(db: Executor, name: str, *, after: int, most: int) -> Sequence[int]:
    """List at most ``most`` repository ids of a shard above ``after``, in order."""
    statement = select(repository.c.id).where(repository.c.shard == name, repository.c.id > after)
    return (await db.execute(statement.order_by(repository.c.id).limit(most))).scalars().all()


async def list_largest_on(db: Executor, name: str, *, most: int) -> Sequence[int]:
    """List repository ids of a shard, the largest first."""
    statement = select(repository.c.id).where(repository.c.shard == name)
    return (await db.execute(statement.order_by(repository.c.size.desc()).limit(most))).scalars().all()


async def list_busiest_on(db: Executor, name: str, *, most: int) -> Sequence[int]:
    """List ids of repositories of a shard by recent requests of git clients, the most requests first.

    Repositories without requests are omitted.
    """
    statement = select(repository.c.id).select_from(_WITH_LOAD).where(repository.c.shard == name)
    statement = statement.where(recent_requests() > 0).order_by(recent_requests().desc()).limit(most)
    return (await db.execute(statement)).scalars().all()


async def usage(db: Executor) -> dict[str, UsageRow]:
    """Return the contents of each shard that is not empty."""
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


async def holdings(db: Executor, name: str) -> Mapping[str, int]:
    """Return the number of items that a shard holds, by kind. Replicas to be removed are skipped."""
    counts = {}
    for what, table, *conditions in (
        ("repositories", repository),
        ("deleted repositories", tombstone),
        ("replicas", replica, ~replica.c.obsolete),
        ("objects of LFS", lfs_object),
        ("archives of organizations", organization_export),
        ("repositories in archives of organizations", exported_repository, exported_repository.c.uuid != ""),
    ):
        statement = select(func.count()).select_from(table).where(table.c.shard == name, *conditions)
        counts[what] = int((await db.execute(statement)).scalar_one())
    return counts


def _objects_on(name: str) -> Select[tuple[int]]:
    return select(lfs_object.c.id).where(lfs_object.c.shard == name)


async def list_objects_to_copy(
    db: Executor, repository_id: int, source: str, target: str
) -> Sequence[LinkedRow]:
    """List LFS objects that the repository has on the source but not on the target."""
    has = select(lfs_link.c.object_id).where(lfs_link.c.repository_id == repository_id)
    copied = select(lfs_object.c.oid).where(lfs_object.c.shard == target, lfs_object.c.id.in_(has))
    statement = select(lfs_object.c.oid, lfs_object.c.size, lfs_object.c.uuid).where(
        lfs_object.c.shard == source, lfs_object.c.id.in_(has), lfs_object.c.oid.not_in(copied)
    )
    return await fetch_all(db, statement, LinkedRow)


async def unlink_objects(tx: Executor, ids: Collection[int], name: str) -> None:
    """Remove the links of these repositories to LFS objects on that shard."""
    await tx.execute(
        delete(lfs_link).where(lfs_link.c.repository_id.in_(ids), lfs_link.c.object_id.in_(_objects_on(name)))
    )


async def push_mirror_ids(db: Executor, ids: Collection[int]) -> Sequence[int]:
    statement = select(push_mirror.c.id).where(push_mirror.c.repository_id.in_(ids))
    return (await db.execute(statement)).scalars().all()


async def move_jobs(tx: Executor, source_kind: str, target_kind: str, keys: Collection[str]) -> None:
    """Change the kind of waiting jobs from the source's kind to the target's kind.

    A running job checks by itself if its repository has moved.
    """
    ended = delete(_JOB).where(_JOB.c.kind == target_kind, _JOB.c.key.in_(keys), ~_UNDER_WAY)
    await tx.execute(ended)
    there = _JOB.alias("there")
    is_there = select(there.c.id).where(there.c.kind == target_kind, there.c.key == _JOB.c.key).exists()
    waiting = (_JOB.c.kind == source_kind) & _JOB.c.key.in_(keys) & (_JOB.c.state == JobState.WAITING)
    await tx.execute(update(_JOB).where(waiting, ~is_there).values(kind=target_kind))


async def report(tx: Executor, job: Job, progress: str) -> None:
    """Save the progress of a job, if its lease has not expired."""
    await tx.execute(
        update(_JOB).where(_JOB.c.id == job.id, _JOB.c.fence == job.fence).values(progress=progress)
    )


async def payload_of(tx: Executor, job: Job) -> bytes:
    """Return the current payload of a job. Lock the job until the transaction ends."""
    statement = select(_JOB.c.payload).where(_JOB.c.id == job.id).with_for_update()
    return (await tx.execute(statement)).scalar() or b""


async def replace_payload(tx: Executor, kind: str, key: str, payload: bytes, run_at: datetime) -> bool:
    """Replace payload and due time of a job. Return False if the job has ended."""
    statement = update(_JOB).where(_JOB.c.kind == kind, _JOB.c.key == key, _UNDER_WAY)
    return (await tx.execute(statement.values(payload=payload, run_at=run_at))).rowcount == 1


async def get_job(db: Executor, kind: str, key: str) -> JobStateRow | None:
    return await fetch_first(db, select(_JOB).where(_JOB.c.kind == kind, _JOB.c.key == key), JobStateRow)


async def list_jobs(db: Executor, *, before: str = "", after: str = "") -> Sequence[JobStateRow]:
    """List waiting and running jobs whose kind begins with ``before`` and ends with ``after``."""
    of_kind = _JOB.c.kind.startswith(before, autoescape=True) & _JOB.c.kind.endswith(after, autoescape=True)
    return await fetch_all(db, select(_JOB).where(of_kind, _UNDER_WAY).order_by(_JOB.c.id), JobStateRow)
