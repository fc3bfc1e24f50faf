"""LFS objects: each shard stores an object once, and links connect it with repositories.

A repository gets an object by an upload, or because the caller may read another repository that has it. The
link is removed when no commit has pointed to the object for a while. An object without links is deleted
together with its bytes.
"""

import hashlib
import uuid
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import BadRequest, InsufficientStorage, Invalid, TooLarge, Unavailable
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.files import FREE, FreeObjects, StoredFiles
from ingot_chassis.objects.store import ObjectStore
from ingot_git.history.lfs_pointers import Pointer
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.viewers import Viewer
from ingot_repos.lfs.store import objects as lfs_objects
from ingot_repos.lfs.store.objects import LfsObjectRow
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.placement.store import shards
from ingot_repos.pushes.store import refs

log = structlog.get_logger()

OBJECTS = "lfs"
LFS_OFF = "large files (LFS) are switched off on this server"
"""The prefix of the storage keys of all LFS objects."""
FREED_AT_ONCE = 500


class LfsLimits(msgspec.Struct, frozen=True):
    """Limits of LFS in bytes. ``max_owner_bytes`` is for all repositories of an account; 0 means no limit."""

    max_object_bytes: int
    max_owner_bytes: int


def object_key(object_uuid: str) -> str:
    """Return the storage key of an object."""
    return f"{OBJECTS}/{object_uuid[:2]}/{object_uuid}"


class LfsObjects:
    """The LFS objects of this shard."""

    def __init__(
        self, database: Database, jobs: Jobs, objects: ObjectStore, limits: LfsLimits, shard: str
    ) -> None:
        self._db, self._jobs, self._objects = database, jobs, objects
        self.limits, self._shard = limits, shard

    async def of_repository(
        self, repository: RepositoryRow, oids: Collection[str]
    ) -> dict[str, LfsObjectRow]:
        """Return the objects of ``oids`` that the repository has, by oid."""
        async with self._db.read() as db:
            return await lfs_objects.list_of_repository(db, repository.id, oids)

    async def mark_needed(self, repository_id: int, oids: Collection[str]) -> dict[str, LfsObjectRow]:
        """Mark objects as needed (see ``release``). Return the marked objects of the repository by oid."""
        async with self._db.transaction() as tx:
            await lfs_objects.mark_needed(tx, repository_id, oids)
            return await lfs_objects.list_of_repository(tx, repository_id, oids)

    async def of_others(
        self, viewer: Viewer, repository: RepositoryRow, oids: Collection[str]
    ) -> dict[str, LfsObjectRow]:
        """Return the objects of ``oids`` in repositories of the shard that the viewer may read, by oid."""
        async with self._db.read() as db:
            return await lfs_objects.list_readable(db, viewer, repository.shard, oids)

    async def find(
        self, viewer: Viewer, repository: RepositoryRow, oids: Collection[str]
    ) -> dict[str, LfsObjectRow]:
        """Return objects of the repository and of all others that the viewer may read, by oid."""
        own = await self.of_repository(repository, oids)
        return own | await self.of_others(viewer, repository, [oid for oid in oids if oid not in own])

    async def share(
        self, viewer: Viewer, repository: RepositoryRow, sizes: dict[str, int]
    ) -> dict[str, LfsObjectRow]:
        """Link objects that the viewer may read in other repositories, within the quota.

        Return all objects of ``sizes`` that the repository has afterwards, by oid.
        """
        own = await self.mark_needed(repository.id, sizes)
        others = await self.of_others(viewer, repository, [oid for oid in sizes if oid not in own])
        others = {oid: row for oid, row in others.items() if row.size == sizes[oid]}
        if not others:
            return own
        try:
            async with self._db.transaction() as tx, self._within_quota(tx, repository.owner_id):
                place = await shards.lock_for_share(tx, repository.id)
                if place is None or place.shard != repository.shard:
                    return own
                linked = await lfs_objects.link(tx, repository.id, repository.shard, others)
        except InsufficientStorage:
            return own
        return own | {oid: others[oid] for oid in linked}

    async def free_bytes(self, repository: RepositoryRow) -> int | None:
        """Return the bytes that the owner may still store; None means no limit."""
        if not self.limits.max_owner_bytes:
            return None
        async with self._db.read() as db:
            used = await lfs_objects.used_bytes(db, repository.owner_id)
        return max(0, self.limits.max_owner_bytes - used)

    async def upload(
        self, repository: RepositoryRow, oid: str, size: int, chunks: AsyncIterable[bytes]
    ) -> None:
        """Store an object and link it to the repository. Opens its own transactions.

        If the object exists, the bytes are still read to the end: they prove that the sender has them. Raises
        BadRequest, Invalid, TooLarge, InsufficientStorage, and Unavailable if the object was deleted in
        between.
        """
        if size > self.limits.max_object_bytes:
            raise TooLarge(f"an object may have at most {self.limits.max_object_bytes} bytes")
        async with self._db.read() as db:
            existing = await lfs_objects.get(db, repository.shard, oid)
        if existing is not None:
            async for _ in _checked(chunks, oid, size):
                pass
            await self._give(repository, oid, size)
            return
        room = await self.free_bytes(repository)
        if room is not None and size > room:
            raise self._no_room()
        object_uuid = str(uuid.uuid4())
        key = object_key(object_uuid)
        await self._objects.put(key, _checked(chunks, oid, size), max_bytes=size, length=size, sha256=oid)
        is_first = False
        try:
            is_first = await self._give(repository, oid, size, object_uuid)
        except InsufficientStorage:
            # Certainly not committed. After other errors the orphan is found by the sweep.
            await self._objects.delete([key])
            raise
        if not is_first:
            await self._objects.delete([key])

    async def has_any(self, repository_id: int) -> bool:
        """Return whether the repository has LFS objects."""
        async with self._db.read() as db:
            return await lfs_objects.has_any(db, repository_id)

    async def adopt(self, source_id: int, target: RepositoryRow, oids: Collection[str]) -> None:
        """Link objects of the source to the target, without a check of the quota."""
        async with self._db.transaction() as tx:
            await shards.lock_for_share(tx, target.id)
            await lfs_objects.copy_links(tx, source_id, target.id, oids)

    async def release(
        self, repository: RepositoryRow, pointers: AsyncIterable[Collection[Pointer]], grace: timedelta
    ) -> None:
        """Unlink objects to which no commit has pointed for ``grace``.

        ``pointers`` are all pointers in commits of the repository. The grace period keeps objects of a branch
        that is pushed again. Nothing is unlinked if refs moved while ``pointers`` were read. A push marks its
        objects as needed before its refs move; otherwise it is rejected (`mark_needed`).
        """
        began = now()
        needed = {pointer.oid async for some in pointers for pointer in some}
        async with self._db.transaction() as tx:
            current = await repositories.get_unfiltered(tx, repository.id)
            if current is None or current.ref_version != repository.ref_version:
                return
            if not await refs.is_only_push(tx, repository.id, 0):
                return  # refs may have moved without a new version yet
            links = await lfs_objects.list_links(tx, repository.id)
            for start in range(0, len(links), FREED_AT_ONCE):
                some_links = links[start : start + FREED_AT_ONCE]
                ids = [row.id for row in some_links if row.oid not in needed]
                await lfs_objects.mark_needed(
                    tx, repository.id, [row.oid for row in some_links if row.oid in needed]
                )
                await lfs_objects.mark_unneeded(tx, repository.id, ids, began)
                if count := await lfs_objects.unlink(tx, repository.id, ids, began - grace):
                    log.info("objects of LFS are needed no more", repository=repository.id, objects=count)

    async def free_unlinked(self) -> None:
        """Delete objects without links. Jobs then delete their bytes.

        Only one process does this at a time, because it reads all objects.
        """
        async with self._db.exclusive(f"repos_free_lfs_objects:{self._shard}") as mine:
            more = bool(mine)
            while more:
                more = await self._free_some() == FREED_AT_ONCE

    async def _free_some(self) -> int:
        async with self._db.transaction() as tx:
            uuids = await lfs_objects.remove_unlinked(tx, self._shard, FREED_AT_ONCE)
            if uuids:
                keys = [object_key(one) for one in uuids]
                await self._jobs.add(tx, job_kind(FREE, self._shard), keys[0], FreeObjects(keys))
                log.info("objects of LFS are freed", objects=len(keys))
        return len(uuids)

    async def _give(self, repository: RepositoryRow, oid: str, size: int, object_uuid: str = "") -> bool:
        """Link an object to the repository. Return True if ``object_uuid`` became its stored copy.

        Raises InsufficientStorage, and Unavailable if the object was deleted in between.
        """
        async with self._db.transaction() as tx, self._within_quota(tx, repository.owner_id):
            is_first = bool(object_uuid) and await lfs_objects.add(
                tx, shard=repository.shard, oid=oid, size=size, uuid=object_uuid
            )
            if not await lfs_objects.link(tx, repository.id, repository.shard, [oid]):
                raise Unavailable("the object was deleted during the upload; send it again")
            return is_first

    @asynccontextmanager
    async def _within_quota(self, tx: Tx, owner_id: int) -> AsyncIterator[None]:
        """Lock the account. Raise InsufficientStorage if the block exceeds its quota."""
        if not self.limits.max_owner_bytes:
            yield
            return
        await lfs_objects.lock_account(tx, owner_id)
        before = await lfs_objects.used_bytes(tx, owner_id)
        yield
        after = await lfs_objects.used_bytes(tx, owner_id)
        if after > max(before, self.limits.max_owner_bytes):
            raise self._no_room()

    def _no_room(self) -> InsufficientStorage:
        return InsufficientStorage(
            f"the owner may store at most {self.limits.max_owner_bytes} bytes with LFS"
        )


async def _checked(chunks: AsyncIterable[bytes], oid: str, size: int) -> AsyncGenerator[bytes, None]:
    """Yield the chunks. Raises BadRequest, TooLarge or Invalid unless size and hash match.

    The errors do not depend on whether the object is stored. Otherwise callers could find out what a
    repository has.
    """
    digest, read = hashlib.sha256(), 0
    async for chunk in chunks:
        read += len(chunk)
        if read > size:
            raise TooLarge(f"{size} bytes were announced, but more were sent")
        digest.update(chunk)
        yield chunk
    if read != size:
        raise BadRequest(f"{size} bytes were announced, but {read} were sent")
    if digest.hexdigest() != oid:
        raise Invalid.field("oid", "checksum", "is not the checksum of the sent bytes")


class LfsFiles(StoredFiles):
    """The bytes of LFS objects in the object store."""

    def __init__(self, database: Database, objects: ObjectStore) -> None:
        super().__init__(database, objects, OBJECTS, lfs_objects.existing_uuids)
