"""Objects of LFS: stored once by their hash on each shard, and had by the repositories that were given them.

A repository gets an object from somebody who sends its bytes, or who may read a repository that has it. What none
of its commits has pointed to for a while is taken from it, and the bytes of an object that no repository has any more are freed.
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
from ingot_chassis.objects.files import FREE, FreeObjects
from ingot_chassis.objects.store import ObjectStore
from ingot_repos.core.job_kinds import job_kind
from ingot_repos.git.lfs_pointers import Pointer
from ingot_repos.store import lfs_objects, refs, repositories, shards
from ingot_repos.store.lfs_objects import LfsObjectRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.viewers import Viewer

log = structlog.get_logger()

OBJECTS = "lfs"
"""The first part of the keys of all objects of LFS."""
FREED_AT_ONCE = 500


class LfsLimits(msgspec.Struct, frozen=True):
    """``max_owner_bytes``: what all repositories of an account may have together; 0: any."""

    max_object_bytes: int
    max_owner_bytes: int


def object_key(object_uuid: str) -> str:
    """Where the bytes of an object are."""
    return f"{OBJECTS}/{object_uuid[:2]}/{object_uuid}"


class LfsObjects:
    """The objects of this shard."""

    def __init__(
        self, database: Database, jobs: Jobs, objects: ObjectStore, limits: LfsLimits, shard: str
    ) -> None:
        self._db, self._jobs, self._objects = database, jobs, objects
        self.limits, self._shard = limits, shard

    async def of_repository(
        self, repository: RepositoryRow, oids: Collection[str]
    ) -> dict[str, LfsObjectRow]:
        """Which of these objects the repository has, by oid."""
        async with self._db.read() as db:
            return await lfs_objects.list_of_repository(db, repository.id, oids)

    async def need(self, repository_id: int, oids: Collection[str]) -> dict[str, LfsObjectRow]:
        """Those of these objects that the repository has, by oid; it needs them from now on (see ``release``)."""
        async with self._db.transaction() as tx:
            await lfs_objects.need(tx, repository_id, oids)
            return await lfs_objects.list_of_repository(tx, repository_id, oids)

    async def of_others(
        self, viewer: Viewer, repository: RepositoryRow, oids: Collection[str]
    ) -> dict[str, LfsObjectRow]:
        """Which of these objects any repository of the shard has that the viewer may read, by oid."""
        async with self._db.read() as db:
            return await lfs_objects.list_readable(db, viewer, repository.shard, oids)

    async def find(
        self, viewer: Viewer, repository: RepositoryRow, oids: Collection[str]
    ) -> dict[str, LfsObjectRow]:
        """Objects of the repository, and of any other one that the viewer may read, by oid."""
        own = await self.of_repository(repository, oids)
        return own | await self.of_others(viewer, repository, [oid for oid in oids if oid not in own])

    async def share(
        self, viewer: Viewer, repository: RepositoryRow, sizes: dict[str, int]
    ) -> dict[str, LfsObjectRow]:
        """Give the repository those of these objects that the viewer may read elsewhere, as far as there is room.

        All of these oids that the repository has then.
        """
        own = await self.need(repository.id, sizes)
        others = await self.of_others(viewer, repository, [oid for oid in sizes if oid not in own])
        others = {oid: row for oid, row in others.items() if row.size == sizes[oid]}
        if not others:
            return own
        try:
            async with self._db.transaction() as tx, self._within_quota(tx, repository.owner_id):
                place = await shards.hold(tx, repository.id)
                if place is None or place.shard != repository.shard:
                    return own
                linked = await lfs_objects.link(tx, repository.id, repository.shard, others)
        except InsufficientStorage:
            return own
        return own | {oid: others[oid] for oid in linked}

    async def free_bytes(self, repository: RepositoryRow) -> int | None:
        """How many bytes the owner may still store; None: any number."""
        if not self.limits.max_owner_bytes:
            return None
        async with self._db.read() as db:
            used = await lfs_objects.used_bytes(db, repository.owner_id)
        return max(0, self.limits.max_owner_bytes - used)

    async def upload(
        self, repository: RepositoryRow, oid: str, size: int, chunks: AsyncIterable[bytes]
    ) -> None:
        """Store an object and give it to the repository; a saga of storage and database, which opens its transactions.

        Bytes that are there already are read to their end, which proves that the sender has them.
        Raises BadRequest, Invalid, TooLarge, InsufficientStorage.
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
            # Surely not committed; of anything else the sweep finds out.
            await self._objects.delete([key])
            raise
        if not is_first:
            await self._objects.delete([key])

    async def has_any(self, repository_id: int) -> bool:
        """Whether the repository has objects."""
        async with self._db.read() as db:
            return await lfs_objects.has_any(db, repository_id)

    async def adopt(self, source_id: int, target: RepositoryRow, oids: Collection[str]) -> None:
        """Let the target have these objects of the source, as far as the source has them; whatever quota is left."""
        async with self._db.transaction() as tx:
            await shards.hold(tx, target.id)
            await lfs_objects.copy_links(tx, source_id, target.id, oids)

    async def release(
        self, repository: RepositoryRow, pointers: AsyncIterable[Collection[Pointer]], grace: timedelta
    ) -> None:
        """Take the objects from the repository to which no commit has pointed for ``grace``.

        ``pointers`` are all that its commits have. A branch may come back within the grace, and nothing goes when refs moved
        while ``pointers`` were read. A push that needs objects says so before its refs move, or is refused (`need`).
        """
        began = now()
        needed = {pointer.oid async for some in pointers for pointer in some}
        async with self._db.transaction() as tx:
            current = await repositories.get_unfiltered(tx, repository.id)
            if current is None or current.ref_version != repository.ref_version:
                return
            if not await refs.is_only_push(tx, repository.id, 0):
                return  # refs may have moved, and are not counted yet
            links = await lfs_objects.list_links(tx, repository.id)
            for start in range(0, len(links), FREED_AT_ONCE):
                some_links = links[start : start + FREED_AT_ONCE]
                ids = [row.id for row in some_links if row.oid not in needed]
                await lfs_objects.need(
                    tx, repository.id, [row.oid for row in some_links if row.oid in needed]
                )
                await lfs_objects.unneed(tx, repository.id, ids, began)
                if count := await lfs_objects.unlink(tx, repository.id, ids, began - grace):
                    log.info("objects of LFS are needed no more", repository=repository.id, objects=count)

    async def free_unlinked(self) -> None:
        """Delete the objects that no repository has; jobs free their bytes. One process at a time: it looks at all objects."""
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
        """Let the repository have an object; whether ``object_uuid`` became it. Raises InsufficientStorage."""
        async with self._db.transaction() as tx, self._within_quota(tx, repository.owner_id):
            is_first = bool(object_uuid) and await lfs_objects.add(
                tx, shard=repository.shard, oid=oid, size=size, uuid=object_uuid
            )
            if not await lfs_objects.link(tx, repository.id, repository.shard, [oid]):
                raise Unavailable("the object was freed meanwhile; send it again")
            return is_first

    @asynccontextmanager
    async def _within_quota(self, tx: Tx, owner_id: int) -> AsyncIterator[None]:
        """Raises InsufficientStorage when the block adds more to the objects of the account than it may have."""
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
    """``chunks``. Raises BadRequest, TooLarge, Invalid unless they are ``size`` bytes of this hash.

    In the same words whether the object is stored already or not: others may not learn what a repository has.
    """
    digest, read = hashlib.sha256(), 0
    async for chunk in chunks:
        read += len(chunk)
        if read > size:
            raise TooLarge(f"{size} bytes were announced and more came")
        digest.update(chunk)
        yield chunk
    if read != size:
        raise BadRequest(f"{size} bytes were announced and {read} came")
    if digest.hexdigest() != oid:
        raise Invalid.field("oid", "checksum", "is not the checksum of what came")
