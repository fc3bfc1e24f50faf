"""Copies of repositories from another shard, with LFS objects and release assets, while they are in use."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import structlog

from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Job
from ingot_chassis.jobs.workers import GiveUp
from ingot_chassis.objects.store import ObjectStore
from ingot_git.process.errors import RepositoryDamaged
from ingot_git.storage import copies
from ingot_git.storage.copies import Contents, is_object_file
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.lfs.rules import objects as lfs
from ingot_repos.lfs.store import objects as lfs_objects
from ingot_repos.placement.clients import Shards, UnreadableRefs
from ingot_repos.releases.rules import assets
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.shards.jobs.file_copies import FILES_AT_ONCE, fetch_files
from ingot_repos.shards.rules.moves import NotNow, Progress, check_cancellation
from ingot_repos.shards.store import moves as move_rows
from ingot_repos.shards.store.moves import MemberRow

log = structlog.get_logger()

TRIES = 5
"""Attempts to copy a repository that git packs during the copy."""
REPORT_SECONDS = 1.0


class NetworkCopy:
    """A copy of a network from ``source`` to this shard, made by one job."""

    def __init__(
        self,
        database: Database,
        storage: Storage,
        objects: ObjectStore,
        peers: Shards,
        job: Job,
        *,
        source: str,
        target: str,
    ) -> None:
        self._db, self._storage, self._objects, self._peers = database, storage, objects, peers
        self._job, self._source, self._target = job, source, target
        self._shared = dict[tuple[int, str], Path]()
        self._copied, self._repositories, self._reported = 0, 0, 0.0
        earlier = msgspec.json.decode(job.progress, type=Progress) if job.progress else Progress()
        self.locks = earlier.locks
        """The number of locks that were too short for the remaining changes."""
        self.asset_keys = earlier.asset_keys
        """Keys of copied release assets, also from earlier workers. Never has originals in a shared store."""

    async def repository(self, row: MemberRow) -> None:
        """Copy a repository and let git check it. Raises NotNow, GiveUp.

        The repository may change during the copy.
        """
        damage = ""
        for _ in range(TRIES):
            contents, path = await self._pass(row)
            await asyncio.to_thread(copies.write_refs, path, contents.refs)
            await asyncio.to_thread(copies.remove_surplus, path, contents.files)
            await self.report("checking")
            if not (damage := await asyncio.to_thread(copies.check_connectivity, path)):
                self._repositories += 1
                return
        raise GiveUp(f"{row.owner_login}/{row.name} is damaged: {damage}")

    async def rest(self, row: MemberRow) -> dict[str, str]:
        """Copy the last changes while the repository is locked. Return its branches and tags.

        Raises NotNow, GiveUp.
        """
        contents, path = await self._pass(row)
        damage = await asyncio.to_thread(copies.check_new_refs, path, contents.refs)
        await asyncio.to_thread(copies.write_refs, path, contents.refs)
        # Objects may exist both loose and packed. Nothing is removed, because nothing is checked after this.
        if damage or await asyncio.to_thread(copies.read_refs, path) != contents.refs:
            raise NotNow(damage or "the refs of the copy differ")
        return _announced(contents)

    async def large_files(self, row: MemberRow) -> None:
        """Copy LFS objects. Afterwards both shards have them. Raises NotNow, GiveUp."""
        async with self._db.read() as db:
            rows = await move_rows.list_objects_to_copy(db, row.id, self._source, self._target)
        for one in rows:
            async with self._db.read() as db:
                existing = await lfs_objects.get(db, self._target, one.oid)
            key = "" if existing is not None else lfs.object_key(new_uuid := str(uuid.uuid4()))
            if key:
                await self._store(row, key, lfs.object_key(one.uuid), one.size, one.oid)
            is_first = False
            async with self._db.transaction() as tx:
                if key:
                    is_first = await lfs_objects.add(
                        tx, shard=self._target, oid=one.oid, size=one.size, uuid=new_uuid
                    )
                if not await lfs_objects.link(tx, row.id, self._target, [one.oid]):
                    raise NotNow("an LFS object was deleted during the copy")
            if key and not is_first:
                await self._objects.delete([key])

    async def release_files(self, row: MemberRow) -> list[str]:
        """Copy release assets under the same keys. Return their ``uuid``s. Raises GiveUp."""
        async with self._db.read() as db:
            rows = await release_assets.list_of_repository(db, row.id)
        keys = {one.uuid: assets.object_key(row.id, one.uuid) for one in rows}
        sizes = {one.uuid: await self._objects.size(keys[one.uuid]) for one in rows}
        missing = [one for one in rows if sizes[one.uuid] != one.size]
        self.asset_keys |= {keys[one.uuid] for one in missing if sizes[one.uuid] is None}
        if missing:
            await self.report(
                "copying"
            )  # saved before the copy, so a later worker can remove the copies of a dead one
        for one in missing:
            await self._store(row, keys[one.uuid], keys[one.uuid], one.size, one.sha256)
        return [one.uuid for one in rows]

    async def is_shared_store(self) -> bool:
        """Return whether both shards use one object store.

        The check writes an object on this shard, and tries to read it on the other shard.
        """
        key = f"moves/{uuid.uuid4()}"
        await self._objects.put(key, _byte(), max_bytes=1)
        try:
            async for _ in self._peers.stored_object(self._source, key):
                pass
        except NotFound:
            return False
        finally:
            await self._objects.delete([key])
        return True

    async def report(self, phase: str) -> None:
        """Save the progress for `ingot-repos shards`. Raises GiveUp if the move was cancelled."""
        progress = Progress(phase, self._copied, self._repositories, self.locks, self.asset_keys)
        async with self._db.transaction() as tx:
            await check_cancellation(tx, self._job)
            await move_rows.report(tx, self._job, msgspec.json.encode(progress).decode())
        self._reported = time.monotonic()

    async def _count(self, copied: int) -> None:
        """Add to the number of copied bytes and save it. Raises GiveUp if the move was cancelled."""
        self._copied += copied
        if time.monotonic() - self._reported > REPORT_SECONDS:
            await self.report("copying")

    async def _pass(self, row: MemberRow) -> tuple[Contents, Path]:
        """Fetch the files that the copy lacks. Return the contents and the copy's path.

        Raises NotNow, GiveUp.
        """
        for _ in range(TRIES):
            try:
                contents = await self._peers.contents(self._source, row.id, Contents)
            except UnreadableRefs:
                raise GiveUp(
                    f"{row.owner_login}/{row.name} is damaged: the shard {self._source} cannot read its refs"
                ) from None
            if not all(is_object_file(file.path) and file.size >= 0 for file in contents.files):
                raise GiveUp(
                    f"{row.owner_login}/{row.name}: the other shard lists a file that is not an object file"
                )
            path = await asyncio.to_thread(self._storage.import_staging, row.id, row.default_branch)
            await asyncio.to_thread(copies.link_files, path, contents.files, self._shared)
            missing = await asyncio.to_thread(copies.missing_files, path, contents.files)
            try:
                for start in range(0, len(missing), FILES_AT_ONCE):
                    part = missing[start : start + FILES_AT_ONCE]
                    await fetch_files(self._peers, self._source, row.id, path, part, self._count)
            except ConnectionError as error:  # git has packed some of them, or the other shard is restarting
                log.info("a copy goes on with another look", repository=row.id, error=repr(error))
                continue
            except RepositoryDamaged as error:
                raise GiveUp(f"{row.owner_login}/{row.name} is damaged: {error}") from error
            return contents, path
        raise NotNow("the other shard does not give all files")

    async def _store(self, row: MemberRow, key: str, source_key: str, size: int, sha256: str) -> None:
        try:
            chunks = self._chunks_of(source_key)
            await self._objects.put(key, chunks, max_bytes=size, length=size, sha256=sha256)
        except NotFound:
            raise GiveUp(f"{row.owner_login}/{row.name}: the file {source_key} is lost") from None

    async def _chunks_of(self, source_key: str) -> AsyncGenerator[bytes, None]:
        async for chunk in self._peers.stored_object(self._source, source_key):
            await self._count(len(chunk))
            yield chunk


def has_files(row: MemberRow) -> bool:
    """Return whether the repository has files on disk."""
    return row.state == RepositoryState.READY


def _announced(contents: Contents) -> dict[str, str]:
    """Return branches and tags by name, in the form of the ledger."""
    tips = {}
    for ref in contents.refs:
        if ref.name.startswith((b"refs/heads/", b"refs/tags/")):
            try:
                tips[ref.name.decode()] = ref.oid
            except UnicodeDecodeError:
                continue
    return tips


async def _byte() -> AsyncGenerator[bytes, None]:
    yield b"."
