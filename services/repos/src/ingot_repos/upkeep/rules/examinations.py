"""Finds and repairs differences between the rows of a shard and its files.

The check may run while the service is running. Repositories that are being changed are skipped.
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
from ingot_git.process.errors import RepositoryDamaged, RepositoryNotFound, RepositorySuspect
from ingot_git.refs.refs import BRANCHES, TAGS, list_refs
from ingot_git.storage.packs import is_in_use
from ingot_git.storage.storage import Storage
from ingot_git.storage.temporary_files import list_abandoned_locks, remove_abandoned_locks
from ingot_repos.catalog.store import upkeep
from ingot_repos.lfs.rules.objects import object_key as lfs_key
from ingot_repos.lfs.store import objects as lfs_objects
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.placement.store import replicas, shards
from ingot_repos.pushes.store import refs
from ingot_repos.releases.rules.assets import object_key as asset_key
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.shards.rules.moves import DISCARD, MOVE
from ingot_repos.shards.store import moves as move_rows
from ingot_repos.upkeep import store as storage_checks
from ingot_repos.upkeep.rules.unadopted import find_orphans, lock_name
from ingot_repos.upkeep.store import CheckedRow, UploadRow

log = structlog.get_logger()

PAGE = 200
OBJECTS_AT_ONCE = 16
"""Concurrent checks of stored objects."""
MOST_DAMAGED = 100
"""Limit of damaged repositories that are listed."""
OLD_PUSH = timedelta(hours=1)
SETTLED_WITHIN = timedelta(minutes=1)
"""Time within which another process settles the pushes of a dead process."""
UNKNOWN_USER = 0
"""The user id in an announcement of moved refs if the user is unknown."""


async def examine_storage(
    database: Database, storage: Storage, objects: ObjectStore, shard: str, *, repair: bool
) -> list[str]:
    """Return one line per difference.

    With ``repair``, moved refs are announced and abandoned locks removed. Orphaned folders and copies left by
    moves go to the trash.
    """
    return [
        *await _old_pushes(database, shard),
        *await _repositories(database, storage, shard, repair),
        *await _orphaned_folders(database, storage, shard, repair),
        *await _copies_of_moves(database, storage, shard, repair),
        *await _replicas(database, shard),
        *await _damaged(database, shard),
        *await _lost_uploads(database, objects, shard),
    ]


async def _old_pushes(database: Database, shard: str) -> list[str]:
    """List journal entries that were never settled. They prevent moves to another shard."""
    async with database.read() as db:
        rows = await storage_checks.list_old_pushes(db, shard, now() - OLD_PUSH)
    lines = [
        f"repos: a push to repository {row.repository_id} has been in the journal since "
        f"{row.created_at:%Y-%m-%d %H:%M}: it is still running, or it cannot be settled; "
        "look in the log for `interrupted push not settled`"
        for row in rows
    ]
    return shortened("repos", lines)


async def _repositories(database: Database, storage: Storage, shard: str, repair: bool) -> list[str]:
    lines: list[str] = []
    last = 0
    while True:
        async with database.read() as db:
            rows = await _list_ready(db, shard, last, PAGE)
            ledgers = await refs.ledgers(db, [row.id for row in rows])
        if not rows:
            return lines
        last = rows[-1].id
        for row in rows:
            try:
                names = await _moved_names(storage, row.id, ledgers[row.id])
                if names and not row.moves:
                    # There may be a new push. Only a difference that remains without a running change is an
                    # error.
                    async with database.read() as db:
                        (again,) = await _list_ready(db, shard, row.id - 1, 1) or [row]
                        ledger = (await refs.ledgers(db, [row.id]))[row.id]
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
            ) as error:  # its refs cannot be compared; `_damaged` reports it
                log.warning("repository cannot be read", repository=row.id, error=str(error))


async def _list_ready(db: Executor, shard: str, after: int, limit: int) -> Sequence[CheckedRow]:
    """List a page of repositories. A journal entry older than OLD_PUSH does not count as a running change."""
    leased, begun = now() - SETTLED_WITHIN, now() - OLD_PUSH
    return await storage_checks.list_ready(db, shard, after, limit, leased=leased, begun=begun)


async def _moved_names(storage: Storage, repository_id: int, ledger: Mapping[str, str]) -> list[str]:
    on_disk = await storage.call(repository_id, list_refs, (BRANCHES, TAGS))
    return sorted(name for name in on_disk.keys() | ledger.keys() if on_disk.get(name) != ledger.get(name))


async def _moved(database: Database, repository_id: int, names: Sequence[str], repair: bool) -> str:
    """Report moved refs. With ``repair``, add a journal entry for them.

    When the entry is settled, the refs on disk are compared with the ledger and moved refs are announced.
    """
    line = f"repos: refs of repository {repository_id} are not where they were announced: {_first(names)}"
    if not repair:
        return f"{line}; `--repair` announces where they are"
    async with database.transaction() as tx:
        await refs.add_push(
            tx,
            repository_id=repository_id,
            user_id=UNKNOWN_USER,
            refs=names,
            merged_pull=0,
            restricted=False,
            lease=now(),
        )
    return f"{line}; they will be announced within a minute of a running repos"


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


async def _abandoned_locks(storage: Storage, repository_id: int, repair: bool) -> list[str]:
    """Report locks that dead processes left.

    Pushes and packing remove such locks. In other repositories they stay until an operation fails.
    """
    path = storage.path(repository_id)
    names = await asyncio.to_thread(list_abandoned_locks, path)
    if not names:
        return []
    line = f"repos: repository {repository_id} has abandoned locks: {_first(names)}"
    if not repair:
        return [f"{line}; `--repair` removes them"]
    await asyncio.to_thread(remove_abandoned_locks, path)
    remain = await asyncio.to_thread(list_abandoned_locks, path)
    return [f"{line}; " + ("some are in use: run it again later" if remain else "they were removed")]


async def _orphaned_folders(database: Database, storage: Storage, shard: str, repair: bool) -> list[str]:
    async with database.exclusive(lock_name(shard)) as is_alone:
        if not is_alone:  # a folder is being adopted or deleted; the operator can run the doctor again
            return []
        orphans = await find_orphans(database, storage)
        if orphans.are_most:
            count = f"{len(orphans.orphaned)} of {len(orphans.all_ids)}"
            line = f"repos: {count} folders of {storage.root} belong to no repository"
            cause = "this is the wrong database, or it lost its rows"
            return [f"{line}: {cause}; `--repair` leaves the folders there"]
        lines = []
        for repository_id in sorted(orphans.orphaned):
            line = f"repos: {storage.path(repository_id)} belongs to no repository"
            if repair:
                storage.move_to_trash(repository_id)
                lines.append(f"{line}; it is in the trash, which is emptied after two days")
            else:
                lines.append(f"{line}; `--repair` moves it to the trash")
        return lines


def _are_most(ids: Sized, all_ids: Sized) -> bool:
    """Return whether most folders are affected. In that case the settings are wrong, not the folders."""
    return 2 * len(ids) > len(all_ids)


async def _copies_of_moves(database: Database, storage: Storage, shard: str, repair: bool) -> list[str]:
    """Report copies of repositories of other shards, left by moves that have ended.

    Copies that a job will use or remove are not reported.
    """
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
        if not is_alone:  # a move to this shard is running; the operator can run the doctor again
            return []
        all_others = {id_: other for id_, other in (other_shards | linked).items() if id_ not in copied}
        remains = await _without_job(database, shard, all_others)
        folders = remains.keys() & other_shards.keys()
        if _are_most(folders, all_ids):
            line = f"repos: {len(folders)} of {len(all_ids)} folders of {storage.root} are of other shards"
            return [f"{line}: this is not the storage of {shard}; `--repair` leaves them there"]
        for repository_id, other in sorted(remains.items()):
            name = f"repository {repository_id}, which is on {other}"
            path = storage.path(repository_id)
            if repository_id in other_shards:
                line = f"repos: {path} is a copy of {name}, left by a move"
                if not repair:
                    lines.append(f"{line}; `--repair` moves it to the trash")
                elif await asyncio.to_thread(is_in_use, path):
                    lines.append(f"{line}; it is still being read, so it stays: run the repair again later")
                else:
                    storage.move_to_trash(repository_id)
                    lines.append(f"{line}; it is in the trash, which is emptied after two days")
            if repository_id in linked:
                line = f"repos: a move has left LFS objects of {name} here"
                if repair:
                    async with database.transaction() as tx:
                        await move_rows.unlink_objects(tx, [repository_id], shard)
                lines.append(
                    f"{line}; " + ("they are removed within an hour" if repair else "`--repair` removes them")
                )
    return lines


async def _replicas(database: Database, shard: str) -> list[str]:
    """Report replicas whose last update failed. They answer no reads until an update succeeds."""
    async with database.read() as db:
        rows = await replicas.list_all(db, shard=shard)
    return [
        f"repos: the replica of {row.owner_login}/{row.name} on {shard} is behind: {row.error}"
        for row in rows
        if row.error and row.name is not None
    ]


async def _damaged(database: Database, shard: str) -> list[str]:
    """Report repositories that were damaged at their last check."""
    async with database.read() as db:
        rows = await upkeep.list_damaged(db, shard, MOST_DAMAGED)
    return [
        f"repos: {row.owner_login}/{row.name} (id {row.repository_id}) is damaged: {row.damage}"
        if row.owner_login is not None
        else f"repos: {row.name} (id {row.repository_id}) is damaged: {row.damage}"  # a wiki
        for row in rows
    ]


class Uploads(NamedTuple):
    """A kind of uploads: its rows, and the keys of their bytes in the object store."""

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
    """Report rows whose bytes are missing or incomplete."""
    try:
        return [
            line
            for uploads in UPLOADS
            for line in shortened("repos", await _lost(database, objects, shard, uploads))
        ]
    except ApiError as error:
        return [f"repos: the storage of uploads cannot be reached: {error.message}; see its log"]


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
            async with database.read() as db:  # rows that were deleted during the check are not lost
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
    """Return the shards by repository, for repositories without a job that uses or removes their files.

    Repositories that moved back to this shard are omitted.
    """
    async with database.read() as db:
        jobs = {(job.kind, job.key) for job in await move_rows.list_jobs(db, after=f"@{shard}")}
    remains = dict[int, str]()
    for repository_id, other in other_shards.items():
        if (job_kind(DISCARD, shard), str(repository_id)) in jobs:
            continue
        async with database.read() as db:
            is_back = await shards.shard_with_files(db, repository_id) == shard
            network = await move_rows.network(db, repository_id)
        if not is_back and not any((job_kind(MOVE, shard), str(row.id)) in jobs for row in network):
            remains[repository_id] = other
    return remains
