"""The worker that keeps the replicas of a shard up to date: copies, updates and removes them.

The rows are the desired state. The process with the lock of a replica brings its files to that state. If it
dies, the lock ends, and the next process continues with the missing files.
"""

import asyncio
import uuid
from datetime import timedelta
from functools import partial

import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.envelope import event_type, subject
from ingot_chassis.jobs.loops import Loop, wait_for
from ingot_contracts.repos.events import PushReceived
from ingot_git.history.archive import Archives
from ingot_git.process.disk import disk_errors
from ingot_git.storage import copies
from ingot_git.storage import replicas as replica_files
from ingot_git.storage.copies import Contents, is_object_file
from ingot_git.storage.packs import is_in_use
from ingot_git.storage.storage import Storage
from ingot_repos.placement.clients import Shards, UnreadableRefs
from ingot_repos.placement.store import replicas
from ingot_repos.placement.store.replicas import ReplicaRow
from ingot_repos.shards.jobs.file_copies import FILES_AT_ONCE, fetch_files

log = structlog.get_logger()

POLL_SECONDS = 5.0
"""Seconds between polls. Pushes normally wake the loop earlier."""
EXAMINE_SECONDS = 60.0
AT_ONCE = 3
"""Concurrent first copies, and concurrent updates. Each uses a database connection."""
IN_USE_PAUSE = timedelta(minutes=1)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=1), timedelta(minutes=5)
TRIES = 5
"""Attempts to copy a repository that git packs during the copy."""
MAX_ERROR_CHARACTERS = 500
"""Limit of characters of a stored error."""


class CopyFailed(Exception):
    """The repository cannot be copied now; a later step tries again."""


def lock_name(repository_id: int, shard: str) -> str:
    """Return the name of the lock for changes to the files of a replica."""
    return f"replica of {repository_id} on {shard}"


def due_lock_name(shard: str, *, is_new: bool) -> str:
    """Return the name of the lock for a shard's first copies, or for its updates."""
    return f"{'new copies' if is_new else 'updates'} of replicas on {shard}"


class Replicas:
    """The loops that keep the replicas of this shard up to date."""

    def __init__(
        self, database: Database, storage: Storage, archives: Archives, peers: Shards, shard: str, bus: Bus
    ) -> None:
        self._db, self._storage, self._archives = database, storage, archives
        self._peers, self._shard, self._bus = peers, shard, bus
        self._wakes = {True: asyncio.Event(), False: asyncio.Event()}
        self._has_lock = {True: False, False: False}
        self._has_any = asyncio.Event()

    def loops(self) -> list[tuple[str, Loop]]:
        """Return the named loops for first copies and updates.

        First copies take long, so updates have their own loops. A large repository blocks only one loop.
        """
        return [
            ("repos looks for replicas", self._look_for_any),
            ("repos decides who makes replicas", partial(self._hold_lock, is_new=True)),
            *[("repos makes replicas", partial(self._run, is_new=True))] * AT_ONCE,
            ("repos decides who brings replicas up to date", partial(self._hold_lock, is_new=False)),
            *[("repos brings replicas up to date", partial(self._run, is_new=False))] * AT_ONCE,
            ("repos looks after files of replicas", self._examine_for_ever),
            ("repos hears of pushes for replicas", self._subscribe_to_pushes),
        ]

    async def _look_for_any(self) -> None:
        """Let the other loops run only while the shard has replicas. Most shards have none."""
        while True:
            async with self._db.read() as db:
                has_any = await replicas.has_any(db, self._shard)
            if has_any:
                self._has_any.set()
            else:
                self._has_any.clear()
            await asyncio.sleep(POLL_SECONDS)

    async def _subscribe_to_pushes(self) -> None:
        """Subscribe to pushes as soon as the shard has a replica."""
        await self._has_any.wait()
        await self._bus.wake(subject(event_type(PushReceived)), self._wakes[False])

    async def _hold_lock(self, *, is_new: bool) -> None:
        """Hold the lock, so only one process takes steps. A step reads all replicas of the shard."""
        while True:
            await self._has_any.wait()
            async with self._db.exclusive(due_lock_name(self._shard, is_new=is_new)) as mine:
                try:
                    self._has_lock[is_new] = bool(mine)
                    self._wakes[is_new].set()
                    while mine and self._has_any.is_set():
                        await asyncio.sleep(POLL_SECONDS)
                finally:
                    self._has_lock[is_new] = False
            await asyncio.sleep(POLL_SECONDS)

    async def _run(self, *, is_new: bool) -> None:
        """Take steps while the lock is held.

        A running step is not cancelled when the lock is lost, because its threads cannot be stopped.
        """
        while True:
            await self._has_any.wait()
            if not (self._has_lock[is_new] and await self.step(is_new=is_new)):
                await wait_for(self._wakes[is_new], POLL_SECONDS)

    async def _examine_for_ever(self) -> None:
        while True:
            await self.examine_stamps()
            await asyncio.sleep(EXAMINE_SECONDS)

    async def examine_stamps(self) -> None:
        """Reset replicas whose files differ from their rows, after a restore or the loss of a disk.

        Only one process does this at a time, because it reads all replicas of the shard.
        """
        async with self._db.exclusive(f"repos_examine_replicas:{self._shard}") as mine:
            if mine:
                await self._examine_stamps()

    async def _examine_stamps(self) -> None:
        async with self._db.read() as db:
            rows = await replicas.list_all(db, shard=self._shard)
        for repository_id in [row.repository_id for row in rows if await self._has_other_files(row)]:
            async with self._db.exclusive(lock_name(repository_id, self._shard)) as is_alone:
                if is_alone:
                    await self._reset(repository_id)

    async def _reset(self, repository_id: int) -> None:
        """Reset a replica, unless it was updated since its check."""
        async with self._db.read() as db:
            row = await replicas.get(db, repository_id, self._shard)
        if row is not None and await self._has_other_files(row):
            async with self._db.transaction() as tx:
                await replicas.reset(tx, repository_id, self._shard)

    async def _has_other_files(self, row: ReplicaRow) -> bool:
        path = self._storage.path(row.repository_id)
        return bool(row.stamp) and await asyncio.to_thread(replica_files.read_stamp, path) != row.stamp

    async def step(self, *, is_new: bool) -> int:
        """Process due replicas, at most ``replicas.MOST_DUE``. Return the number that succeeded."""
        async with self._db.read() as db:
            due = await replicas.list_due(db, self._shard, is_new=is_new)
        done = 0
        for row in due:
            async with self._db.exclusive(lock_name(row.repository_id, self._shard)) as is_alone:
                if is_alone:
                    done += await self._process(row.repository_id)
        return done

    async def _process(self, repository_id: int) -> bool:
        async with self._db.read() as db:
            row = await replicas.get_due(db, repository_id, self._shard)
        if row is None:  # another task has done it
            return False
        try:
            if row.source == self._shard:  # the repository moved here, so the files are its own
                async with self._db.transaction() as tx:
                    await replicas.forget(tx, repository_id, self._shard)
                return True
            if row.obsolete or row.source is None:
                return await self._remove(repository_id)
            await self._copy(row, row.source)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no reason to leave the others
            log.warning("replica not brought up to date", repository=repository_id, error=repr(error))
            pause = min(FIRST_PAUSE * 2 ** min(row.failures, 20), LONGEST_PAUSE)
            message = (str(error) or repr(error))[:MAX_ERROR_CHARACTERS]
            async with self._db.transaction() as tx:
                await replicas.postpone(tx, repository_id, self._shard, now() + pause)
                await replicas.change(
                    tx, repository_id, self._shard, error=message, failures=row.failures + 1
                )
            return False
        return True

    async def _remove(self, repository_id: int) -> bool:
        if await asyncio.to_thread(is_in_use, self._storage.path(repository_id)):
            async with self._db.transaction() as tx:
                await replicas.postpone(tx, repository_id, self._shard, now() + IN_USE_PAUSE)
            return False
        await asyncio.to_thread(self._storage.delete, repository_id)
        await asyncio.to_thread(self._archives.remove, repository_id)
        async with self._db.transaction() as tx:
            await replicas.forget(tx, repository_id, self._shard)
        return True

    async def _copy(self, row: ReplicaRow, source: str) -> None:
        """Fetch new objects, check them, then replace the refs.

        Changes during the copy are left for the next step.
        """
        repository_id, default_branch = row.repository_id, row.default_branch or ""
        if not await asyncio.to_thread(self._storage.exists, repository_id):
            await asyncio.to_thread(self._storage.create, repository_id, default_branch)
        contents = await self._fetch_contents(repository_id, source)
        path, stamp = self._storage.path(repository_id), uuid.uuid4().hex
        await asyncio.to_thread(replica_files.replace_refs, path, contents.refs, default_branch)
        await asyncio.to_thread(copies.remove_surplus, path, contents.files)
        await asyncio.to_thread(replica_files.write_stamp, path, stamp)
        async with self._db.transaction() as tx:
            await replicas.change(
                tx,
                repository_id,
                self._shard,
                ref_version=row.ref_version,
                default_branch=default_branch,
                stamp=stamp,
                error="",
                failures=0,
            )

    async def _fetch_contents(self, repository_id: int, source: str) -> Contents:
        """Copy all objects of the repository to this disk. Return the contents of the repository.

        Raises CopyFailed and errors of the connection to the other shard.
        """
        path, damage = self._storage.path(repository_id), "the other shard does not give all files"
        for _ in range(TRIES):
            try:
                contents = await self._peers.contents(source, repository_id, Contents)
            except UnreadableRefs:
                raise CopyFailed(f"the shard {source} cannot read its refs") from None
            except NotFound:
                raise CopyFailed(f"the shard {source} has no files of it") from None
            if not all(is_object_file(file.path) and file.size >= 0 for file in contents.files):
                raise CopyFailed(f"the shard {source} lists a file that is not an object file")
            missing = replica_files.in_order(
                await asyncio.to_thread(copies.missing_files, path, contents.files)
            )
            try:
                with disk_errors():
                    for start in range(0, len(missing), FILES_AT_ONCE):
                        part = missing[start : start + FILES_AT_ONCE]
                        await fetch_files(self._peers, source, repository_id, path, part)
            except ConnectionError as error:  # git has packed some of them, or the other shard is restarting
                damage = f"the shard {source} does not give all files: {error!r}"
                continue
            await asyncio.to_thread(replica_files.flush, path, missing)
            damage = await asyncio.to_thread(copies.check_new_refs, path, contents.refs)
            if not damage:
                return contents
        raise CopyFailed(damage)
