"""Extraction of data that repos stores from an uploaded archive: bundles of git data, and LFS objects."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ingot_chassis.errors import BadRequest, InsufficientStorage, Invalid, TooLarge
from ingot_git.process.errors import RepositoryDamaged
from ingot_git.remote.remote import RemoteFailed
from ingot_git.storage.object_checks import check_repository
from ingot_git.storage.storage import Storage
from ingot_remotes.interface.source import SourceFailed
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.imports.rules.openings import ARCHIVE
from ingot_repos.lfs.rules.objects import LfsObjects

if TYPE_CHECKING:
    from ingot_remotes.archives.archive import Archive

LFS = "lfs/"
_T = TypeVar("_T")


class ArchiveUnpacker:
    """An unpacker of files from uploaded archives. Its methods raise RemoteFailed."""

    def __init__(self, storage: Storage, lfs: LfsObjects, *, lfs_enabled: bool) -> None:
        self._storage, self._lfs, self._lfs_enabled = storage, lfs, lfs_enabled

    async def unpack(self, archive: str, path: str) -> Path | None:
        """Copy a bundle out of an archive, and return its path. Return None if the archive lacks it."""
        from ingot_remotes.archives.archive import open_archive

        folder = self._storage.archive_folder(archive)
        target = folder / path.rpartition("/")[2]

        def copy() -> Path | None:
            with open_archive(folder / ARCHIVE) as opened:
                if path not in opened.paths():
                    return None
                opened.copy_bundle(path, target)
            return target

        return await _in_thread(copy)

    async def check(self, path: Path) -> None:
        """Check the objects of a repository that was fetched from a bundle. Git does not check them."""
        try:
            await asyncio.to_thread(check_repository, path)
        except RepositoryDamaged:
            raise RemoteFailed("unsafe") from None

    async def store_lfs(self, repository: RepositoryRow, archive: str) -> None:
        """Copy the LFS objects of an archive into the repository. Existing objects are skipped."""
        from ingot_remotes.archives.archive import open_in_thread

        try:
            async with open_in_thread(self._storage.archive_folder(archive) / ARCHIVE) as opened:
                oids = sorted(path.removeprefix(LFS) for path in opened.paths() if path.startswith(LFS))
                if oids and not self._lfs_enabled:
                    raise RemoteFailed("lfs-off")
                for oid in oids:
                    if oid not in await self._lfs.mark_needed(repository.id, [oid]):
                        await self._store(repository, opened, oid)
        except SourceFailed:
            raise RemoteFailed("archive") from None

    async def _store(self, repository: RepositoryRow, archive: "Archive", oid: str) -> None:
        from ingot_remotes.archives.archive import read_in_threads

        path = LFS + oid
        try:
            await self._lfs.upload(repository, oid, archive.size(path), read_in_threads(archive, path))
        except TooLarge:
            raise RemoteFailed("lfs-too-large") from None
        except InsufficientStorage:
            raise RemoteFailed("lfs-room") from None
        except (BadRequest, Invalid):
            raise RemoteFailed("archive") from None


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Run ``work`` on an archive in a thread, and return its result. Raises RemoteFailed."""
    from ingot_remotes.archives.layout import ArchiveInvalid

    try:
        return await asyncio.to_thread(work)
    except (ArchiveInvalid, FileNotFoundError):
        raise RemoteFailed("archive") from None
