"""Keeps the replicas of a shard like their repositories: copies, brings up to date, removes.

The rows say what there should be. Whoever has the lock of a replica makes it so; a process that dies loses the lock, and the
next one goes on with the files that are missing.
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
from ingot_contracts.repos import PushReceived
from ingot_repos.clients.shards import Shards, UnreadableRefs
from ingot_repos.git import copies
from ingot_repos.git import replicas as replica_files
from ingot_repos.git.archive import Archives
from ingot_repos.git.copies import Contents, is_object_file
from ingot_repos.git.disk import disk_errors
from ingot_repos.git.packs import is_in_use
from ingot_repos.git.storage import Storage
from ingot_repos.store import replicas
from ingot_repos.store.replicas import ReplicaRow
from ingot_repos.workers.file_copies import FILES_AT_ONCE, fetch_files

log = structlog.get_logger()

POLL_SECONDS = 2.0
"""After a push that was not heard of."""
EXAMINE_SECONDS = 60.0
AT_ONCE = 3
"""First copies, and as many replicas that are brought up to date; each holds a connection to the database."""
IN_USE_PAUSE = timedelta(minutes=1)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=1), timedelta(minutes=5)
TRIES = 5
"""Passes over a repository that git packs meanwhile."""
MOST_SAID = 500
"""Characters of an error."""


class CopyFailed(Exception):
    """The repository cannot be copied now."""


def lock_name(repository_id: int, shard: str) -> str:
    """The name of the lock of whoever changes the files of a replica."""
    return f"replica of {repository_id} on {shard}"


def due_lock_name(shard: str, *, is_new: bool) -> str:
    """The name of the lock of the process that makes the replicas of a shard, or brings them up to date."""
    return f"{'new copies' if is_new else 'updates'} of replicas on {shard}"


class Replicas:
    """The replicas of this shard."""

    def __init__(
        self, database: Database, storage: Storage, archives: Archives, peers: Shards, shard: str, bus: Bus
    ) -> None:
        self._db, self._storage, self._archives = database, storage, archives
        self._peers, self._shard, self._bus = peers, shard, bus
        self._wakes = {True: asyncio.Event(), False: asyncio.Event()}
        self._has_lock = {True: False, False: False}

    def loops(self) -> list[tuple[str, Loop]]:
        """First copies take long, so what follows pushes has loops of its own; a large repository holds up one of them."""
        return [
            ("repos decides who makes replicas", partial(self._hold_lock, is_new=True)),
            *[("repos makes replicas", partial(self._run, is_new=True))] * AT_ONCE,
            ("repos decides who brings replicas up to date", partial(self._hold_lock, is_new=False)),
            *[("repos brings replicas up to date", partial(self._run, is_new=False))] * AT_ONCE,
            ("repos looks after files of replicas", self._examine_for_ever),
            ("repos hears of pushes for replicas", self._hear_of_pushes),
        ]

    async def _hear_of_pushes(self) -> None:
        """Once the shard has any; all others need not hear."""
        while True:
            async with self._db.read() as db:
                has_any = await replicas.has_any(db, self._shard)
            if has_any:
                await self._bus.wake(subject(event_type(PushReceived)), self._wakes[False])
            await asyncio.sleep(POLL_SECONDS)

    async def _hold_lock(self, *, is_new: bool) -> None:
        """Let one process at a time take steps: each step looks at all replicas of the shard."""
        while True:
            async with self._db.exclusive(due_lock_name(self._shard, is_new=is_new)) as mine:
                try:
                    self._has_lock[is_new] = bool(mine)
                    self._wakes[is_new].set()
                    while mine:
                        await asyncio.sleep(POLL_SECONDS)
                finally:
                    self._has_lock[is_new] = False
            await asyncio.sleep(POLL_SECONDS)

    async def _run(self, *, is_new: bool) -> None:
        """A step that has begun is not cancelled when the lock is lost: threads would go on with the files of a replica."""
        while True:
            if not (self._has_lock[is_new] and await self.step(is_new=is_new)):
                await wait_for(self._wakes[is_new], POLL_SECONDS)

    async def _examine_for_ever(self) -> None:
        while True:
            await self.examine_stamps()
            await asyncio.sleep(EXAMINE_SECONDS)

    async def examine_stamps(self) -> None:
        """Let those be copied anew whose files are not the ones that the row means: a backup was restored, or a disk lost.

        One process at a time: it looks at the files of all replicas of the shard.
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
                    await self._begin_anew(repository_id)

    async def _begin_anew(self, repository_id: int) -> None:
        """Unless it was brought up to date meanwhile."""
        async with self._db.read() as db:
            row = await replicas.get(db, repository_id, self._shard)
        if row is not None and await self._has_other_files(row):
            async with self._db.transaction() as tx:
                await replicas.begin_anew(tx, repository_id, self._shard)

    async def _has_other_files(self, row: ReplicaRow) -> bool:
        path = self._storage.path(row.repository_id)
        return bool(row.stamp) and await asyncio.to_thread(replica_files.read_stamp, path) != row.stamp

    async def step(self, *, is_new: bool) -> int:
        """Look at each one that is due; how many could be put right."""
        async with self._db.read() as db:
            due = await replicas.list_due(db, self._shard, is_new=is_new)
        done = 0
        for row in due:
            async with self._db.exclusive(lock_name(row.repository_id, self._shard)) as is_alone:
                if is_alone:
                    done += await self._put_right(row.repository_id)
        return done

    async def _put_right(self, repository_id: int) -> bool:
        async with self._db.read() as db:
            row = await replicas.get_due(db, repository_id, self._shard)
        if row is None:  # another task was faster
            return False
        try:
            if row.source == self._shard:  # it moved here: the files are its own
                async with self._db.transaction() as tx:
                    await replicas.forget(tx, repository_id, self._shard)
                return True
            if row.obsolete or row.source is None:
                return await self._remove(repository_id)
            await self._copy(row, row.source)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no reason to leave the others
            log.warning("replica not brought up to date", repository=repository_id, error=repr(error))
            pause = min(FIRST_PAUSE * 2 ** min(row.failures, 20), LONGEST_PAUSE)
            said = (str(error) or repr(error))[:MOST_SAID]
            async with self._db.transaction() as tx:
                await replicas.put_off(tx, repository_id, self._shard, now() + pause)
                await replicas.change(tx, repository_id, self._shard, error=said, failures=row.failures + 1)
            return False
        return True

    async def _remove(self, repository_id: int) -> bool:
        if await asyncio.to_thread(is_in_use, self._storage.path(repository_id)):
            async with self._db.transaction() as tx:
                await replicas.put_off(tx, repository_id, self._shard, now() + IN_USE_PAUSE)
            return False
        await asyncio.to_thread(self._storage.delete, repository_id)
        await asyncio.to_thread(self._archives.remove, repository_id)
        async with self._db.transaction() as tx:
            await replicas.forget(tx, repository_id, self._shard)
        return True

    async def _copy(self, row: ReplicaRow, source: str) -> None:
        """Fetch what is new, check it, and only then let the refs be seen. What moves meanwhile is for the next time."""
        repository_id, default_branch = row.repository_id, row.default_branch or ""
        if not await asyncio.to_thread(self._storage.exists, repository_id):
            await asyncio.to_thread(self._storage.create, repository_id, default_branch)
        contents = await self._whole(repository_id, source)
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

    async def _whole(self, repository_id: int, source: str) -> Contents:
        """What the repository consists of, all of it on this disk. Raises CopyFailed, and what the other shard causes."""
        path, damage = self._storage.path(repository_id), "the other shard does not give all files"
        for _ in range(TRIES):
            try:
                contents = await self._peers.contents(source, repository_id, Contents)
            except UnreadableRefs:
                raise CopyFailed(f"the shard {source} cannot read its refs") from None
            except NotFound:
                raise CopyFailed(f"the shard {source} has no files of it") from None
            if not all(is_object_file(file.path) and file.size >= 0 for file in contents.files):
                raise CopyFailed(f"the shard {source} names what is no file of objects")
            missing = replica_files.in_order(
                await asyncio.to_thread(copies.missing_files, path, contents.files)
            )
            try:
                with disk_errors():
                    for start in range(0, len(missing), FILES_AT_ONCE):
                        part = missing[start : start + FILES_AT_ONCE]
                        await fetch_files(self._peers, source, repository_id, path, part)
            except ConnectionError as error:  # git has packed some of them, or the other shard starts again
                damage = f"the shard {source} does not give all files: {error!r}"
                continue
            await asyncio.to_thread(replica_files.flush, path, missing)
            damage = await asyncio.to_thread(copies.check_new_refs, path, contents.refs)
            if not damage:
                return contents
        raise CopyFailed(damage)
