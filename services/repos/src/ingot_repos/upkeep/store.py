"""SQL that compares rows of a shard with its files, page by page."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import exists, literal, select, union

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.jobs.jobs import JobState
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.catalog.store.tables import metadata, repository
from ingot_repos.lfs.store.tables import lfs_link, lfs_object
from ingot_repos.placement.store.tables import push, tombstone
from ingot_repos.releases.store.assets import release_asset
from ingot_repos.releases.store.releases import release

_JOB = metadata.tables["job"]


class CheckedRow(TypedRow):
    """A repository with files. ``moves``: a push or merge is running or is not settled yet."""

    id: int
    moves: bool


class OldPushRow(TypedRow):
    repository_id: int
    created_at: datetime


class PlacedRow(TypedRow):
    id: int
    shard: str


class UploadRow(TypedRow):
    """An uploaded object. ``repository_id`` is 0 for LFS objects, which repositories share."""

    id: int
    uuid: str
    name: str
    size: int
    repository_id: int


async def list_ready(
    db: Executor, shard: str, after: int, limit: int, *, leased: datetime, begun: datetime
) -> Sequence[CheckedRow]:
    """List repositories of a shard with ids greater than ``after``, ordered by id.

    ``moves`` is True if a journal entry began after ``begun`` and has a lease beyond ``leased``.
    """
    runs = (push.c.lease_until > leased) & (push.c.created_at > begun)
    moves = exists().where(push.c.repository_id == repository.c.id, runs).label("moves")
    statement = (
        select(repository.c.id, moves)
        .where(
            repository.c.shard == shard,
            repository.c.state == RepositoryState.READY,
            repository.c.id > after,
        )
        .order_by(repository.c.id)
        .limit(limit)
    )
    return await fetch_all(db, statement, CheckedRow)


async def list_old_pushes(db: Executor, shard: str, before: datetime) -> Sequence[OldPushRow]:
    """List journal entries of a shard that began before ``before``."""
    statement = (
        select(push.c.repository_id, push.c.created_at)
        .join(repository, repository.c.id == push.c.repository_id)
        .where(repository.c.shard == shard, push.c.created_at < before)
        .order_by(push.c.id)
    )
    return await fetch_all(db, statement, OldPushRow)


async def ids_in_use(db: Executor, ids: Sequence[int]) -> set[int]:
    """Return the members of ``ids`` that have a row, a tombstone, or a job that has not ended."""
    statement = union(
        select(repository.c.id).where(repository.c.id.in_(ids)),
        select(tombstone.c.repository_id).where(tombstone.c.repository_id.in_(ids)),
    )
    rows = set((await db.execute(statement)).scalars())
    has_work = _JOB.c.state.in_((JobState.WAITING, JobState.RUNNING))
    keys = select(_JOB.c.key).where(_JOB.c.key.in_([str(id_) for id_ in ids]), has_work)
    return rows | {int(key) for key in (await db.execute(keys)).scalars()}


async def list_on_other_shards(db: Executor, ids: Sequence[int], shard: str) -> Mapping[int, str]:
    """Return the names of the shards by id, for the members of ``ids`` that are on another shard."""
    statement = select(repository.c.id, repository.c.shard).where(
        repository.c.id.in_(ids), repository.c.shard != shard
    )
    return {row.id: row.shard for row in await fetch_all(db, statement, PlacedRow)}


async def list_links_on_other_shards(db: Executor, shard: str) -> Sequence[PlacedRow]:
    """List repositories of other shards that have LFS objects on this shard."""
    linked = select(lfs_link.c.repository_id).join(lfs_object, lfs_object.c.id == lfs_link.c.object_id)
    statement = select(repository.c.id, repository.c.shard).where(
        repository.c.shard != shard, repository.c.id.in_(linked.where(lfs_object.c.shard == shard))
    )
    return await fetch_all(db, statement.order_by(repository.c.id), PlacedRow)


async def list_lfs_objects(db: Executor, shard: str, after: int, limit: int) -> Sequence[UploadRow]:
    """List LFS objects of a shard with ids greater than ``after``, by id."""
    statement = (
        select(
            lfs_object.c.id,
            lfs_object.c.uuid,
            lfs_object.c.oid.label("name"),
            lfs_object.c.size,
            literal(0).label("repository_id"),
        )
        .where(lfs_object.c.shard == shard, lfs_object.c.id > after)
        .order_by(lfs_object.c.id)
    )
    return await fetch_all(db, statement.limit(limit), UploadRow)


async def list_assets(db: Executor, shard: str, after: int, limit: int) -> Sequence[UploadRow]:
    """List release assets of a shard with ids greater than ``after``, by id."""
    asset = release_asset
    statement = (
        select(asset.c.id, asset.c.uuid, asset.c.name, asset.c.size, release.c.repository_id)
        .join(release, release.c.id == asset.c.release_id)
        .join(repository, repository.c.id == release.c.repository_id)
        .where(repository.c.shard == shard, asset.c.id > after)
        .order_by(asset.c.id)
    )
    return await fetch_all(db, statement.limit(limit), UploadRow)
