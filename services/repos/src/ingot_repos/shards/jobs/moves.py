"""Jobs that move repositories to this shard, and jobs that remove the old files after a move."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec
import structlog

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.loops import polls
from ingot_chassis.jobs.workers import GiveUp, Work, Workers
from ingot_chassis.objects.store import ObjectStore
from ingot_git.history.archive import Archives
from ingot_git.storage.packs import is_in_use
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.placement.clients import Shards
from ingot_repos.placement.rules.owners import LOCK_MARGIN, MOST_LOCKED
from ingot_repos.placement.store import replicas, shards
from ingot_repos.pushes.store import refs
from ingot_repos.releases.rules.assets import object_key
from ingot_repos.shards.jobs.network_copies import NetworkCopy, has_files
from ingot_repos.shards.jobs.replicas import lock_name
from ingot_repos.shards.rules import moves
from ingot_repos.shards.rules.moves import (
    DISCARD,
    GRACE,
    MOST_LOCKS,
    MOST_MEMBERS,
    MOVE,
    Discard,
    Move,
    NotNow,
)
from ingot_repos.shards.store import moves as move_rows
from ingot_repos.shards.store.moves import MemberRow

log = structlog.get_logger()

PUSH_SECONDS = 5.0
"""Seconds that a move waits for running pushes. New pushes wait for the move during this time."""
LAST_SECONDS = 4.0
"""Seconds at the end of the lock that are left for the last transaction."""
REST_SECONDS = MOST_LOCKED.total_seconds() - LOCK_MARGIN - LAST_SECONDS
"""Seconds of the lock for copying changes made during the main copy."""


class MoveJobs:
    """The worker of jobs that move repositories to this shard and discard their old files."""

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
        """Move a network to this shard. The next worker continues an interrupted move."""
        payload = msgspec.json.decode(job.payload, type=Move)
        async with self._move_lock():
            await self._move(job, payload)

    async def _move(self, job: Job, payload: Move) -> None:
        async with self._db.read() as db:
            network = await move_rows.network(db, payload.repository_id)
        members = [row for row in network if row.shard == payload.source != self._shard]
        if not members:
            await self._abandon([row.id for row in network if row.shard != self._shard])
            return
        if len(members) > MOST_MEMBERS:
            raise GiveUp(
                f"{len(members)} repositories share files and must move together; the limit is {MOST_MEMBERS}"
            )
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
                # They may remain from an interrupted move, or from a time when the repository was here.
                if await asyncio.to_thread(is_in_use, self._storage.path(row.id)):
                    raise NotNow("its former files on this shard are still being read")
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
        """Remove the old files of a repository that has moved.

        Nothing is removed if the repository has moved back. Git files stay if they belong to a replica. While
        git still reads the files, the job is requeued after ``GRACE``.
        """
        async with self._move_lock():
            await self._discard(job, msgspec.json.decode(job.payload, type=Discard))

    async def _discard(self, job: Job, payload: Discard) -> None:
        repository_id = payload.repository_id
        async with self._db.read() as db:
            if await shards.shard_with_files(db, repository_id) == self._shard:
                return
            has_replica = await replicas.get(db, repository_id, self._shard) is not None
        if not has_replica:  # the files belong to the replica now
            if await asyncio.to_thread(is_in_use, self._storage.path(repository_id)):
                async with self._db.transaction() as tx:
                    await self._jobs.finish(tx, job, again_at=now() + GRACE)
                return
            await asyncio.to_thread(self._storage.delete, repository_id)
        await asyncio.to_thread(self._archives.remove, repository_id)
        await self._objects.delete(object_key(repository_id, uuid) for uuid in payload.asset_uuids)
        async with self._db.transaction() as tx:
            await move_rows.unlink_objects(tx, [repository_id], self._shard)

    @asynccontextmanager
    async def _move_lock(self) -> AsyncIterator[None]:
        """Hold the lock for moves to this shard and for removals after moves. Raises NotNow."""
        async with self._db.exclusive(f"moves of {self._shard}") as is_alone:
            if not is_alone:
                raise NotNow("another process moves repositories to this shard")
            yield

    async def _end_replica(self, repository_id: int) -> None:
        """End a replica, because the move uses its files: replica updates must not change them.

        Raises NotNow.
        """
        async with self._db.exclusive(lock_name(repository_id, self._shard)) as is_alone:
            if not is_alone:
                raise NotNow("a replica of it is being brought up to date")
            async with self._db.transaction() as tx:
                await replicas.forget(tx, repository_id, self._shard)

    async def _remove_published(self, repository_id: int) -> None:
        """Move files to the trash unless the repository is on this shard.

        The repository cannot move while this runs.
        """
        async with self._db.transaction() as tx:
            place = await shards.lock_for_share(tx, repository_id)
            if place is None or place.shard != self._shard:
                await asyncio.to_thread(self._storage.move_to_trash, repository_id)

    async def _change(
        self, job: Job, copy: NetworkCopy, members: Sequence[MemberRow], source: str, *, is_shared: bool
    ) -> None:
        """Lock the repositories, copy the last changes and change the shard.

        Raises NotNow, GiveUp, LeaseLost.
        """
        ids, until = [row.id for row in members], now() + MOST_LOCKED
        async with self._db.transaction() as tx:
            if not await move_rows.lock(tx, ids, source, until):
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
            await asyncio.shield(self._unlock(ids, until))
            if isinstance(error, TimeoutError):
                await self._count_short_lock(copy, len(members))
                raise NotNow("copying the last changes took too long") from error
            raise

    async def _count_short_lock(self, copy: NetworkCopy, repositories: int) -> None:
        """Count a lock that was too short for the remaining changes.

        Raises GiveUp after ``MOST_LOCKS``, because each lock delays pushes.
        """
        copy.locks += 1
        if copy.locks >= MOST_LOCKS:
            raise GiveUp(
                f"{repositories} repositories were locked {MOST_LOCKS} times for {self._rest_seconds:.0f} s, "
                "which is too short to copy the last changes; nothing has moved"
            )
        await copy.report("waits after a lock that was too short")

    async def _wait_for_pushes(self, ids: Sequence[int]) -> None:
        """Wait for running pushes. Raises NotNow if one takes longer than ``PUSH_SECONDS``."""
        async for _ in polls(PUSH_SECONDS):
            async with self._db.read() as db:
                if not await move_rows.has_pushes(db, ids):
                    return
        raise NotNow("a push is still running")

    async def _require_ledgers(self, tips: dict[int, dict[str, str]]) -> None:
        """Raise GiveUp if refs on disk differ from the announced refs."""
        async with self._db.read() as db:
            ledgers = await refs.ledgers(db, list(tips))
        for repository_id, announced in tips.items():
            if ledgers[repository_id] != announced:
                raise GiveUp(
                    f"refs of repository {repository_id} are not where they were announced; "
                    "`ingot-repos doctor --repair` on its shard announces them"
                )

    async def _unlock(self, ids: Sequence[int], until: datetime) -> None:
        """End the lock, and remove the published copies.

        If the shard was changed and only the response of the database was lost, the copies stay.
        """
        async with self._db.transaction() as tx:
            await move_rows.unlock(tx, ids, until)
        # The lock has ended, so pushes may continue even if the removal fails.
        for repository_id in ids:
            await self._remove_published(repository_id)

    async def _abandon(self, ids: Sequence[int]) -> None:
        """Remove copies on this shard of repositories that other shards own."""
        async with self._db.transaction() as tx:
            await move_rows.unlink_objects(tx, ids, self._shard)
        for repository_id in ids:
            await asyncio.to_thread(self._storage.clear, repository_id)


class MoveWorkers(Workers):
    """Workers for moves between shards."""
