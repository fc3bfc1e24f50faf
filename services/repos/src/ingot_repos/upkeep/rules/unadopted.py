"""Repositories on the volume of a shard that have no row: their adoption and their deletion.

There are two kinds. Operators copy folders to ``unadopted/<owner>/<name>.git`` in the storage. Orphans are
folders that the service wrote itself and whose repository no longer exists. The name of an orphan is its id,
and its owner is ``-``, which is not a valid account name.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_git.process.errors import GitError, StorageFull
from ingot_git.storage.storage import StagedCopy, Storage
from ingot_repos.upkeep import store as storage_checks

NO_OWNER = "-"
PAGE = 200
_BUSY = "another adoption, deletion or repair is running on this shard; try again when it has ended"
_MAIN = ("main", "master")


class Orphans(NamedTuple):
    """Ids of folders without a repository, and of all folders."""

    orphaned: Collection[int]
    all_ids: Collection[int]

    @property
    def are_most(self) -> bool:
        """True if most folders are orphans. In that case the settings are wrong, not the folders."""
        return 2 * len(self.orphaned) > len(self.all_ids)


class UnadoptedFolder(NamedTuple):
    """A folder to adopt. ``owner`` is ``NO_OWNER`` for an orphan."""

    owner: str
    name: str
    path: Path

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


async def find_orphans(database: Database, storage: Storage) -> Orphans:
    """Return the orphans of the volume.

    The row of a repository exists before its folder. The folders are listed before the rows are read, so a
    listed folder without a row belongs to no repository. Folders with a tombstone or a job are no orphans:
    their files are about to be removed, copied or moved.
    """
    all_ids, orphaned = await asyncio.to_thread(lambda: list(storage.ids())), set[int]()
    for start in range(0, len(all_ids), PAGE):
        ids = all_ids[start : start + PAGE]
        async with database.read() as db:
            orphaned |= set(ids) - await storage_checks.ids_in_use(db, ids)
    return Orphans(orphaned, all_ids)


async def list_unadopted(database: Database, storage: Storage) -> list[str]:
    """Return the full names of all folders without a row, sorted."""
    orphans = await find_orphans(database, storage)
    dropped = await asyncio.to_thread(storage.dropped)
    return sorted([f"{NO_OWNER}/{id_}" for id_ in orphans.orphaned] + ["/".join(names) for names in dropped])


def matches(full_name: str, pattern: str) -> bool:
    """True if the glob ``pattern`` matches: ``owner`` or ``owner/name``.

    An empty pattern matches everything.
    """
    owner, _, name = full_name.lower().partition("/")
    owner_glob, slash, name_glob = pattern.lower().partition("/")
    return fnmatchcase(owner, owner_glob or "*") and (not slash or fnmatchcase(name, name_glob or "*"))


async def find(database: Database, storage: Storage, owner: str, name: str) -> UnadoptedFolder:
    """Return the named folder. Raises NotFound.

    Raises Conflict for an orphan if most folders are orphans, because the database may be the wrong one.
    """
    if owner == NO_OWNER:
        orphans = await find_orphans(database, storage)
        if not name.isdecimal() or int(name) not in orphans.orphaned:
            raise NotFound
        if orphans.are_most:
            raise Conflict(
                f"{len(orphans.orphaned)} of {len(orphans.all_ids)} folders belong to no repository: this is "
                "the wrong database, or it lost its rows"
            )
        return UnadoptedFolder(owner, name, storage.path(int(name)))
    if (owner, name) not in await asyncio.to_thread(storage.dropped):
        raise NotFound
    return UnadoptedFolder(owner, name, storage.dropped_path(owner, name))


@asynccontextmanager
async def alone(database: Database, shard: str) -> AsyncGenerator[None, None]:
    """Hold the lock for adopting and removing folders of a shard. Raises Conflict.

    Only the holder can remove the folder of an orphan. So no new repository can get the folder between its
    check and its removal.
    """
    async with database.exclusive(lock_name(shard)) as is_alone:
        if not is_alone:
            raise Conflict(_BUSY)
        yield


def lock_name(shard: str) -> str:
    return f"unadopted of {shard}"


@asynccontextmanager
async def staged_copy(storage: Storage, folder: UnadoptedFolder) -> AsyncGenerator[StagedCopy, None]:
    """Yield a checked copy of branches and tags, for the caller to publish.

    An unpublished copy is removed afterwards. Hooks and settings of the folder are not copied and never used.
    Raises Invalid if the folder cannot be copied.
    """
    staged: StagedCopy | None = None
    try:
        try:
            staged = await asyncio.to_thread(storage.stage_copy, folder.path)
        except StorageFull:
            raise
        except (GitError, OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise Invalid.field("repo", "unreadable", f"cannot be adopted: {reason}") from error
        yield staged
    finally:
        if staged is not None:
            await asyncio.to_thread(storage.discard_copy, staged.path)


def main_branch(staged: StagedCopy, default: str) -> str:
    """Return the default branch of an adopted repository: the branch in its HEAD, if that exists.

    Otherwise it is main, master or the first branch. Without branches it is ``default``.
    """
    if not staged.branches:
        return default
    return next((name for name in (staged.head, *_MAIN) if name in staged.branches), min(staged.branches))
