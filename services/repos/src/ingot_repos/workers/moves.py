"""The jobs that take repositories over from another shard, and remove what they left there."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec
import structlog

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import GiveUp, Work
from ingot_chassis.objects.store import ObjectStore
from ingot_repos.clients.shards import Shards
from ingot_repos.core import moves
from ingot_repos.core.moves import DISCARD, GRACE, MOST_LOCKS, MOST_MEMBERS, MOVE, Discard, Move, NotNow
from ingot_repos.core.placements import LOCK_MARGIN, MOST_LOCKED
from ingot_repos.core.release_assets import object_key
from ingot_repos.core.waits import looks
from ingot_repos.git.archive import Archives
from ingot_repos.git.packs import is_in_use
from ingot_repos.git.storage import Storage
from ingot_repos.store import replicas, shards, storage_checks
from ingot_repos.store.shards import MemberRow
from ingot_repos.store.states import RepositoryState
from ingot_repos.workers.network_copies import NetworkCopy, has_files
from ingot_repos.workers.replicas import lock_name

log = structlog.get_logger()

PUSH_SECONDS = 5.0
"""How long a move waits for pushes that run, while others wait for the move."""
LAST_SECONDS = 4.0
"""Of the lock, for the last transaction."""
REST_SECONDS = MOST_LOCKED.total_seconds() - LOCK_MARGIN - LAST_SECONDS
"""Of the lock, for what has come while the repositories were copied."""


class MoveJobs:
    """The work of each kind of these jobs."""

    def __init__(
        self,
        jobs: Jobs,
        storage: Storage,
        archives: Archives,
        objects: ObjectStore,
        peers: Shards,
        shard: str,
        *,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        self._jobs, self._db, self._storage, self._archives = jobs, jobs.database, storage, archives
        self._objects, self._peers, self._shard, self._rest_seconds = objects, peers, shard, rest_seconds

    def work(self) -> dict[str, Work]:
        return {MOVE: self.move, DISCARD: self.discard}

    async def move(self, job: Job) -> None:
        """Take a network over. What was copied stays if this ends early, and the next worker goes on with it."""
        payload = msgspec.json.decode(job.payload, type=Move)
        async with self._alone():
            await self._move(job, payload)

    async def _move(self, job: Job, payload: Move) -> None:
        async with self._db.read() as db:
            network = await shards.network(db, payload.repository_id)
        members = [row for row in network if row.shard == payload.source != self._shard]
        if not members:
            await self._abandon([row.id for row in network if row.shard != self._shard])
            return
        if len(members) > MOST_MEMBERS:
            raise GiveUp(f"{len(members)} repositories fetch from each other; {MOST_MEMBERS} move at most")
        copy = NetworkCopy(
            self._db,
            self._storage,
            self._objects,
            self._peers,
            job,
            source=payload.source,
            target=self._shard,
        )
        try:
            await copy.report("copying")
            if any(row.state in (RepositoryState.CREATING, RepositoryState.FORKING) for row in members):
                raise NotNow("a repository is not ready yet")
            async with self._db.read() as db:
                copied = {one.repository_id for one in await replicas.list_all(db, shard=self._shard)}
            for row in filter(has_files, members):
                if row.id in copied:
                    await self._end_replica(row.id)
                # Of a move that ended between its last two steps, or from when the repository was here before.
                if await asyncio.to_thread(is_in_use, self._storage.path(row.id)):
                    raise NotNow("the files that it had here are still read")
                await self._remove_published(row.id)
                await copy.repository(row)
                await copy.large_files(row)
                await copy.release_files(row)
            await copy.report("changing")
            await self._change(job, copy, members, payload.source, is_shared=await copy.is_shared_store())
        except GiveUp:
            await self._abandon([row.id for row in members])
            await self._objects.delete(copy.asset_keys)
            raise
        for row in members:
            await asyncio.to_thread(self._storage.clear, row.id)
        log.info("repositories moved", repositories=len(members), source=payload.source, target=self._shard)

    async def discard(self, job: Job) -> None:
        """Remove the files of a repository that moved away, unless it came back, or git still reads them."""
        async with self._alone():
            await self._discard(job, msgspec.json.decode(job.payload, type=Discard))

    async def _discard(self, job: Job, payload: Discard) -> None:
        repository_id = payload.repository_id
        async with self._db.read() as db:
            if await shards.shard_with_files(db, repository_id) == self._shard:
                return
            has_replica = await replicas.get(db, repository_id, self._shard) is not None
        if not has_replica:  # whose the files are now
            if await asyncio.to_thread(is_in_use, self._storage.path(repository_id)):
                async with self._db.transaction() as tx:
                    await self._jobs.finish(tx, job, again_at=now() + GRACE)
                return
            await asyncio.to_thread(self._storage.delete, repository_id)
        await asyncio.to_thread(self._archives.remove, repository_id)
        await self._objects.delete(object_key(repository_id, uuid) for uuid in payload.asset_uuids)
        async with self._db.transaction() as tx:
            await shards.unlink_objects(tx, [repository_id], self._shard)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Nobody else moves repositories to this shard, or discards what they left here. Raises NotNow."""
        async with self._db.exclusive(f"moves of {self._shard}") as is_alone:
            if not is_alone:
                raise NotNow("another process moves repositories to this shard")
            yield

    async def _end_replica(self, repository_id: int) -> None:
        """The files of a replica are to be those of the repository: nobody brings them up to date any more. Raises NotNow."""
        async with self._db.exclusive(lock_name(repository_id, self._shard)) as is_alone:
            if not is_alone:
                raise NotNow("a replica of it is being brought up to date")
            async with self._db.transaction() as tx:
                await replicas.forget(tx, repository_id, self._shard)

    async def _remove_published(self, repository_id: int) -> None:
        """Put away the files of a repository that is not on this shard, and does not get there meanwhile."""
        async with self._db.transaction() as tx:
            place = await shards.hold(tx, repository_id)
            if place is None or place.shard != self._shard:
                await asyncio.to_thread(self._storage.move_to_trash, repository_id)

    async def _change(
        self, job: Job, copy: NetworkCopy, members: Sequence[MemberRow], source: str, *, is_shared: bool
    ) -> None:
        """Copy the rest while nothing changes, and change the shard. Raises NotNow, GiveUp, LeaseLost."""
        ids, until = [row.id for row in members], now() + MOST_LOCKED
        async with self._db.transaction() as tx:
            if not await shards.lock(tx, ids, source, until):
                raise NotNow("a repository was deleted")
        try:
            async with asyncio.timeout(self._rest_seconds):
                await self._wait_for_pushes(ids)
                tips, copied_assets = dict[int, dict[str, str]](), dict[int, list[str]]()
                for row in filter(has_files, members):
                    tips[row.id] = await copy.rest(row)
                    await copy.large_files(row)
                    uuids = await copy.release_files(row)
                    if not is_shared:
                        copied_assets[row.id] = uuids
                await self._require_ledgers(tips)
                for row in filter(has_files, members):
                    await asyncio.to_thread(self._storage.publish_import, row.id, row.default_branch)
                await asyncio.to_thread(os.sync)
            async with self._db.transaction() as tx:
                await tx.limit_lock_wait(LAST_SECONDS)
                await moves.change_shard(
                    tx,
                    self._jobs,
                    job,
                    members,
                    source=source,
                    target=self._shard,
                    until=until,
                    copied_assets=copied_assets,
                )
        except BaseException as error:
            await asyncio.shield(self._take_back(ids, until))
            if isinstance(error, TimeoutError):
                await self._note_vain_lock(copy, len(members))
                raise NotNow("what has come meanwhile took too long") from error
            raise

    async def _note_vain_lock(self, copy: NetworkCopy, repositories: int) -> None:
        """Raises GiveUp the last time: each one lets pushes wait."""
        copy.locks += 1
        if copy.locks >= MOST_LOCKS:
            raise GiveUp(
                f"{repositories} repositories were locked {MOST_LOCKS} times for {self._rest_seconds:.0f} s, which was "
                "not enough for what had come meanwhile; nothing has moved"
            )
        await copy.report("waits after a lock in vain")

    async def _wait_for_pushes(self, ids: Sequence[int]) -> None:
        """Raises NotNow while one runs for longer."""
        async for _ in looks(PUSH_SECONDS):
            async with self._db.read() as db:
                if not await shards.has_pushes(db, ids):
                    return
        raise NotNow("a push takes long")

    async def _require_ledgers(self, tips: dict[int, dict[str, str]]) -> None:
        """Raises GiveUp when something was pushed that was never announced."""
        async with self._db.read() as db:
            ledgers = await storage_checks.ledgers(db, list(tips))
        for repository_id, announced in tips.items():
            if ledgers[repository_id] != announced:
                raise GiveUp(
                    f"refs of repository {repository_id} are not where they were announced; `ingot-repos doctor "
                    "--repair` on its shard announces them"
                )

    async def _take_back(self, ids: Sequence[int], until: datetime) -> None:
        """End the lock, unless the change was made and only its answer was lost."""
        async with self._db.transaction() as tx:
            await shards.unlock(tx, ids, until)
        # The lock is over: a push may go on, whether this succeeds or not.
        for repository_id in ids:
            await self._remove_published(repository_id)

    async def _abandon(self, ids: Sequence[int]) -> None:
        """Remove what was copied of repositories that are on other shards."""
        async with self._db.transaction() as tx:
            await shards.unlink_objects(tx, ids, self._shard)
        for repository_id in ids:
            await asyncio.to_thread(self._storage.clear, repository_id)
