"""Finds what differs between the rows of a shard and its files, and puts right what can be put right.

It may run beside the service. A repository that is being changed is left alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Sized
from datetime import timedelta
from typing import NamedTuple

import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import ApiError
from ingot_chassis.events.doctor import shortened
from ingot_chassis.objects.files import ExistingUuids
from ingot_chassis.objects.store import ObjectStore
from ingot_repos.core.job_kinds import job_kind
from ingot_repos.core.lfs_objects import object_key as lfs_key
from ingot_repos.core.moves import DISCARD, MOVE
from ingot_repos.core.release_assets import object_key as asset_key
from ingot_repos.git.errors import RepositoryDamaged, RepositoryNotFound, RepositorySuspect
from ingot_repos.git.packs import is_in_use
from ingot_repos.git.refs import BRANCHES, TAGS, list_refs
from ingot_repos.git.storage import Storage
from ingot_repos.git.temporary_files import list_abandoned_locks, remove_abandoned_locks
from ingot_repos.store import (
    lfs_objects,
    refs,
    release_assets,
    replicas,
    shards,
    storage_checks,
    upkeep,
)
from ingot_repos.store.storage_checks import CheckedRow, UploadRow

log = structlog.get_logger()

PAGE = 200
OBJECTS_AT_ONCE = 16
"""Objects of a storage."""
MOST_DAMAGED = 100
"""That are named."""
OLD_PUSH = timedelta(hours=1)
SETTLED_WITHIN = timedelta(minutes=1)
"""Time in which another process settles what a dead one has left."""
NOBODY = 0
"""Of a move of refs that nobody made through this service."""


async def examine_storage(
    database: Database, storage: Storage, objects: ObjectStore, shard: str, *, repair: bool
) -> list[str]:
    """One line for each thing that differs.

    With ``repair`` moved refs are announced, abandoned locks removed, and folders of nobody and copies that moves have
    left set aside.
    """
    return [
        *await _old_pushes(database, shard),
        *await _repositories(database, storage, shard, repair),
        *await _folders_of_nobody(database, storage, repair),
        *await _copies_of_moves(database, storage, shard, repair),
        *await _replicas(database, shard),
        *await _damaged(database, shard),
        *await _lost_uploads(database, objects, shard),
    ]


async def _old_pushes(database: Database, shard: str) -> list[str]:
    """Entries of the journal that nobody settles; they keep their repositories from moving to another shard."""
    async with database.read() as db:
        rows = await storage_checks.list_old_pushes(db, shard, now() - OLD_PUSH)
    lines = [
        f"repos: a push to repository {row.repository_id} has been in the journal since {row.created_at:%Y-%m-%d %H:%M}: it runs "
        "still, or cannot be settled, which the log says as `interrupted push not settled`"
        for row in rows
    ]
    return shortened("repos", lines)


async def _repositories(database: Database, storage: Storage, shard: str, repair: bool) -> list[str]:
    lines: list[str] = []
    last = 0
    while True:
        async with database.read() as db:
            rows = await _list_ready(db, shard, last, PAGE)
            ledgers = await storage_checks.ledgers(db, [row.id for row in rows])
        if not rows:
            return lines
        last = rows[-1].id
        for row in rows:
            try:
                names = await _moved_names(storage, row.id, ledgers[row.id])
                if names and not row.moves:
                    # Something may have been pushed since; what is still different now, and is not being changed, is wrong.
                    async with database.read() as db:
                        (again,) = await _list_ready(db, shard, row.id - 1, 1) or [row]
                        ledger = (await storage_checks.ledgers(db, [row.id]))[row.id]
                    names = [] if again.moves else await _moved_names(storage, row.id, ledger)
                    if names and again.id == row.id:
                        lines.append(await _moved(database, row.id, names, repair))
                if not row.moves:
                    lines += await _abandoned_locks(storage, row.id, repair)
            except RepositoryNotFound:
                lines.append(f"repos: repository {row.id} has no files; restore {storage.path(row.id)}")
            except (
                RepositoryDamaged,
                RepositorySuspect,
            ) as error:  # its refs cannot be compared; `_damaged` says more
                log.warning("repository cannot be read", repository=row.id, error=str(error))


async def _list_ready(db: Executor, shard: str, after: int, limit: int) -> Sequence[CheckedRow]:
    """An entry of the journal that nobody settles is no reason to leave a repository alone."""
    leased, begun = now() - SETTLED_WITHIN, now() - OLD_PUSH
    return await storage_checks.list_ready(db, shard, after, limit, leased=leased, begun=begun)


async def _moved_names(storage: Storage, repository_id: int, ledger: Mapping[str, str]) -> list[str]:
    on_disk = await storage.call(repository_id, list_refs, (BRANCHES, TAGS))
    return sorted(name for name in on_disk.keys() | ledger.keys() if on_disk.get(name) != ledger.get(name))


async def _moved(database: Database, repository_id: int, names: Sequence[str], repair: bool) -> str:
    """An entry in the journal is all that is needed: whoever settles it looks at the disk and announces what moved."""
    line = f"repos: refs of repository {repository_id} are not where they were announced: {_first(names)}"
    if not repair:
        return f"{line}; `--repair` announces where they are"
    async with database.transaction() as tx:
        await refs.add_push(
            tx,
            repository_id=repository_id,
            user_id=NOBODY,
            refs=names,
            merged_pull=0,
            restricted=False,
            lease=now(),
        )
    return f"{line}; they will be announced within a minute of a running repos"


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


async def _abandoned_locks(storage: Storage, repository_id: int, repair: bool) -> list[str]:
    """Where somebody pushes or packs they are removed anyway; elsewhere they wait for the first who is refused."""
    path = storage.path(repository_id)
    names = await asyncio.to_thread(list_abandoned_locks, path)
    if not names:
        return []
    line = f"repos: repository {repository_id} has locks that nobody holds: {_first(names)}"
    if not repair:
        return [f"{line}; `--repair` removes them"]
    await asyncio.to_thread(remove_abandoned_locks, path)
    remain = await asyncio.to_thread(list_abandoned_locks, path)
    return [f"{line}; " + ("some are in use: repair them later" if remain else "they are removed")]


async def _folders_of_nobody(database: Database, storage: Storage, repair: bool) -> list[str]:
    all_ids, nobody = list(storage.ids()), set[int]()
    for start in range(0, len(all_ids), PAGE):
        ids = all_ids[start : start + PAGE]
        async with database.read() as db:
            nobody |= set(ids) - await storage_checks.existing_ids(db, ids)
    if _are_most(nobody, all_ids):
        line = f"repos: {len(nobody)} of {len(all_ids)} folders of {storage.root} belong to no repository"
        return [f"{line}: the database is not theirs, or lost its rows; `--repair` leaves them there"]
    lines = []
    for repository_id in sorted(nobody):
        line = f"repos: {storage.path(repository_id)} belongs to no repository"
        if repair:
            storage.move_to_trash(repository_id)
            lines.append(f"{line}; it is in the trash, which is emptied after two days")
        else:
            lines.append(f"{line}; `--repair` moves it to the trash")
    return lines


def _are_most(ids: Sized, all_ids: Sized) -> bool:
    """It is the settings that are wrong then, and not the folders."""
    return 2 * len(ids) > len(all_ids)


async def _copies_of_moves(database: Database, storage: Storage, shard: str, repair: bool) -> list[str]:
    """What moves that ended have left here of repositories of other shards. What a job will use or remove is not meant."""
    lines, all_ids = [], list(storage.ids())
    other_shards = dict[int, str]()
    for start in range(0, len(all_ids), PAGE):
        async with database.read() as db:
            other_shards |= await storage_checks.list_on_other_shards(
                db, all_ids[start : start + PAGE], shard
            )
    async with database.read() as db:
        copied = {row.repository_id for row in await replicas.list_all(db, shard=shard)}
        linked = {row.id: row.shard for row in await storage_checks.list_links_on_other_shards(db, shard)}
    async with database.exclusive(f"moves of {shard}") as is_alone:
        if not is_alone:  # a move to this shard is going on: the doctor is asked once more
            return []
        all_others = {id_: other for id_, other in (other_shards | linked).items() if id_ not in copied}
        remains = await _without_job(database, shard, all_others)
        folders = remains.keys() & other_shards.keys()
        if _are_most(folders, all_ids):
            line = f"repos: {len(folders)} of {len(all_ids)} folders of {storage.root} are of other shards"
            return [f"{line}: this storage is not that of {shard}; `--repair` leaves them there"]
        for repository_id, other in sorted(remains.items()):
            name = f"repository {repository_id}, which is on {other}"
            path = storage.path(repository_id)
            if repository_id in other_shards:
                line = f"repos: {path} is a copy of {name}, that a move has left"
                if not repair:
                    lines.append(f"{line}; `--repair` moves it to the trash")
                elif await asyncio.to_thread(is_in_use, path):
                    lines.append(f"{line}; it is still read, so it stays: repair it later")
                else:
                    storage.move_to_trash(repository_id)
                    lines.append(f"{line}; it is in the trash, which is emptied after two days")
            if repository_id in linked:
                line = f"repos: objects of LFS are here of {name}, that a move has left"
                if repair:
                    async with database.transaction() as tx:
                        await shards.unlink_objects(tx, [repository_id], shard)
                lines.append(
                    f"{line}; " + ("they go within an hour" if repair else "`--repair` lets them go")
                )
    return lines


async def _replicas(database: Database, shard: str) -> list[str]:
    """Replicas that could not be brought up to date when that was tried last; until they can, nobody reads them."""
    async with database.read() as db:
        rows = await replicas.list_all(db, shard=shard)
    return [
        f"repos: the replica of {row.owner_login}/{row.name} on {shard} is behind: {row.error}"
        for row in rows
        if row.error and row.name is not None
    ]


async def _damaged(database: Database, shard: str) -> list[str]:
    """Repositories that were damaged when they were checked last."""
    async with database.read() as db:
        rows = await upkeep.list_damaged(db, shard, MOST_DAMAGED)
    return [
        f"repos: {row.owner_login}/{row.name} (id {row.repository_id}) is damaged: {row.damage}"
        for row in rows
    ]


class Uploads(NamedTuple):
    """Rows whose bytes are objects."""

    kind: str
    list_page: Callable[[Executor, str, int, int], Awaitable[Sequence[UploadRow]]]
    key: Callable[[UploadRow], str]
    existing_uuids: ExistingUuids


UPLOADS = (
    Uploads(
        "the object of LFS",
        storage_checks.list_lfs_objects,
        lambda row: lfs_key(row.uuid),
        lfs_objects.existing_uuids,
    ),
    Uploads(
        "the file of a release",
        storage_checks.list_assets,
        lambda row: asset_key(row.repository_id, row.uuid),
        release_assets.existing_uuids,
    ),
)


async def _lost_uploads(database: Database, objects: ObjectStore, shard: str) -> list[str]:
    """Rows without their bytes, or without all of them."""
    try:
        return [
            line
            for uploads in UPLOADS
            for line in shortened("repos", await _lost(database, objects, shard, uploads))
        ]
    except ApiError as error:
        return [f"repos: the storage of uploads cannot be asked: {error.message}; its log says why"]


async def _lost(database: Database, objects: ObjectStore, shard: str, uploads: Uploads) -> list[str]:
    lines: list[str] = []
    last = 0
    while True:
        async with database.read() as db:
            rows = await uploads.list_page(db, shard, last, PAGE)
        if not rows:
            return lines
        last = rows[-1].id
        sizes = await _sizes(objects, [uploads.key(row) for row in rows])
        lost = {row.uuid: row for row, size in zip(rows, sizes, strict=True) if size != row.size}
        if lost:
            async with database.read() as db:  # what was deleted meanwhile is not lost
                there = await uploads.existing_uuids(db, list(lost))
            lines += [
                f"repos: {uploads.kind} {row.name} is not in the storage with its {row.size} bytes; restore "
                f"{uploads.key(row)} from a backup"
                for row in lost.values()
                if row.uuid in there
            ]


async def _sizes(objects: ObjectStore, keys: Sequence[str]) -> list[int | None]:
    sizes: list[int | None] = []
    for start in range(0, len(keys), OBJECTS_AT_ONCE):
        sizes += await asyncio.gather(*map(objects.size, keys[start : start + OBJECTS_AT_ONCE]))
    return sizes


async def _without_job(database: Database, shard: str, other_shards: Mapping[int, str]) -> Mapping[int, str]:
    """Those that no job will take over, and of which none removes what is left. They may have come back, too."""
    async with database.read() as db:
        jobs = {(job.kind, job.key) for job in await shards.list_jobs(db, after=f"@{shard}")}
    remains = dict[int, str]()
    for repository_id, other in other_shards.items():
        if (job_kind(DISCARD, shard), str(repository_id)) in jobs:
            continue
        async with database.read() as db:
            is_back = await shards.shard_with_files(db, repository_id) == shard
            network = await shards.network(db, repository_id)
        if not is_back and not any((job_kind(MOVE, shard), str(row.id)) in jobs for row in network):
            remains[repository_id] = other
    return remains
