"""Jobs that pack repositories after pushes and check their objects."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import structlog
from prometheus_client import Gauge

from ingot_chassis.clock import now
from ingot_chassis.errors import Unavailable
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_chassis.jobs.workers import Work
from ingot_git.history.lfs_pointers import history_pointers
from ingot_git.process.errors import (
    GitFailed,
    GitTimedOut,
    PackedByAnother,
    RepositoryDamaged,
    StorageFull,
)
from ingot_git.storage.packs import check_repository, pack_loose_refs, pack_repository
from ingot_git.storage.storage import Storage
from ingot_git.storage.temporary_files import remove_old_temporary_files
from ingot_repos.catalog.store import repositories, upkeep
from ingot_repos.lfs.rules.objects import LfsObjects
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.placement.store import replicas, shards
from ingot_repos.shards.jobs.replicas import lock_name

log = structlog.get_logger()

PACK, CHECK = "pack", "check"
PLAN_EVERY, MEASURE_EVERY = timedelta(seconds=15), timedelta(minutes=1)
PACK_EVERY, CHECK_EVERY = timedelta(days=1), timedelta(days=7)
PLANNED_AT_ONCE = 10
"""Limit of waiting jobs per kind. New jobs are added only if no job is due.

So a growing number of due jobs shows a problem.
"""
POINTERS_AT_ONCE = 1000

DAMAGED = Gauge("ingot_repositories_damaged", "Repositories in which git found damaged objects", ["shard"])
UNCHECKED = Gauge("ingot_repositories_unchecked", "Repositories that were never checked", ["shard"])
CHECK_AGE = Gauge(
    "ingot_repositories_oldest_check_seconds", "Age of the oldest check of a repository", ["shard"]
)


class Upkeep(msgspec.Struct, frozen=True):
    """A job that packs or checks one repository."""

    repository_id: int


class UpkeepJobs:
    """Jobs that pack and check repositories, and the tasks that add these jobs."""

    def __init__(self, jobs: Jobs, storage: Storage, lfs: LfsObjects, shard: str, grace: timedelta) -> None:
        self._jobs, self._db, self._storage, self._lfs = jobs, jobs.database, storage, lfs
        self._shard, self._grace = shard, grace

    def work(self) -> dict[str, Work]:
        return {PACK: self.pack, CHECK: self.check}

    def tasks(self) -> list[PeriodicTask]:
        return [
            PeriodicTask("repos_plan_upkeep", PLAN_EVERY, self.plan),
            PeriodicTask("repos_measure_damage", MEASURE_EVERY, self.measure),
        ]

    async def plan(self) -> None:
        """Add jobs for due repositories.

        Only one process does this at a time, because it reads all repositories of the shard.
        """
        async with self._db.exclusive(f"repos_plan_upkeep:{self._shard}") as mine:
            if mine:
                await self._plan_due()
        # A repository with known damage is not checked again until an operator repairs it.
        for repository_id in sorted(self._storage.watch.suspects - self._storage.watch.damaged):
            await self._add(job_kind(CHECK, self._shard), repository_id)

    async def _plan_due(self) -> None:
        due = await self._jobs.due_since()
        for kind, list_ids in ((PACK, self._to_pack), (CHECK, self._to_check)):
            name = job_kind(kind, self._shard)
            for repository_id in await list_ids() if name not in due else ():
                await self._add(name, repository_id)

    async def _add(self, kind: str, repository_id: int) -> None:
        async with self._db.transaction() as tx:
            await self._jobs.add(tx, kind, repository_id, Upkeep(repository_id))

    async def measure(self) -> None:
        """Set the metrics of checks.

        Only one process does this at a time, because it reads all repositories.
        """
        async with self._db.exclusive(f"repos_measure_damage:{self._shard}") as mine:
            if mine:
                await self._measure()

    async def _measure(self) -> None:
        async with self._db.read() as db:
            row = await upkeep.health(db, self._shard)
        if row is not None:
            age = (now() - row.oldest_check).total_seconds() if row.oldest_check is not None else 0.0
            DAMAGED.labels(self._shard).set(row.damaged)
            UNCHECKED.labels(self._shard).set(row.unchecked)
            CHECK_AGE.labels(self._shard).set(age)

    async def pack(self, job: Job) -> None:
        """Pack one repository. Idempotent.

        If git fails, the repository is checked. After a failure or timeout it is not packed for a day.
        Temporary packs of killed processes may be as large as the repository, so they are removed first.
        """
        repository_id = msgspec.json.decode(job.payload, type=Upkeep).repository_id
        async with self._db.read() as db:
            place = await shards.place(db, repository_id)
        if place is None or place.shard != self._shard:
            return
        if not await asyncio.to_thread(self._storage.exists, repository_id):
            return
        path = self._storage.path(repository_id)
        prune_at = None
        try:
            await asyncio.to_thread(remove_old_temporary_files, path)
            if await asyncio.to_thread(pack_repository, path, grace=self._grace):
                prune_at = now() + self._grace + PLAN_EVERY
        except PackedByAnother:
            raise Unavailable("another process packs it") from None
        except (GitFailed, RepositoryDamaged) as error:
            log.warning("repository could not be packed", repository=repository_id, error=str(error))
            await self.check_now(repository_id)
        except GitTimedOut as error:
            log.warning("repository not packed", repository=repository_id, error=str(error))
        await self._save(repository_id, packed_version=place.ref_version, packed_at=now(), prune_at=prune_at)

    async def check(self, job: Job) -> None:
        """Check one repository.

        If no object is damaged, loose refs are packed if there are very many. LFS objects that have long been
        unneeded are unlinked, too.
        """
        repository_id = msgspec.json.decode(job.payload, type=Upkeep).repository_id
        if await self.check_now(repository_id):
            return
        async with self._db.read() as db:
            place = await shards.place(db, repository_id)
            row = await repositories.get_unfiltered(db, repository_id)
        if place is None or place.shard != self._shard:
            return
        path = self._storage.path(repository_id)
        # Packing may have failed because of them, and it is not repeated without a push.
        try:
            await asyncio.to_thread(pack_loose_refs, path)
        except (GitTimedOut, StorageFull) as error:
            log.warning("refs not packed", repository=repository_id, error=str(error))
        if row is not None and await self._lfs.has_any(repository_id):
            pointers = history_pointers(path, at_once=POINTERS_AT_ONCE)
            async with contextlib.aclosing(pointers):
                await self._lfs.release(row, pointers, self._grace)

    async def check_all(self) -> AsyncGenerator[str, None]:
        """Check every repository of the shard now. Yield a line per damaged repository, and a summary."""
        began, checked, damaged = now(), 0, 0
        while ids := await self._to_check(began):
            for repository_id in ids:
                damage = await self.check_now(repository_id)
                checked += 1
                if damage:
                    damaged += 1
                    yield f"repository {repository_id}: {damage}"
        yield f"{checked} repositories are checked, {damaged} of them damaged"

    async def check_now(self, repository_id: int) -> str:
        """Check a repository or its replica on this shard. Return the damage and save it.

        The result is empty if there is no damage or the repository was deleted. After a timeout only the time
        of the attempt is saved, so other repositories are checked next.
        """
        if not await self._is_here(repository_id):
            return await self._check_replica(repository_id)
        try:
            damage = "its files are not there"
            if await asyncio.to_thread(self._storage.exists, repository_id):
                damage = await asyncio.to_thread(check_repository, self._storage.path(repository_id))
        except GitTimedOut as error:
            log.warning("repository not checked", repository=repository_id, error=str(error))
            await self._save(repository_id, checked_at=now())
            return ""
        if damage:
            if not await self._is_here(repository_id):  # its files went while git looked at them
                return ""
            log.error("repository is damaged", repository=repository_id, damage=damage)
        await asyncio.to_thread(self._storage.note_check, repository_id, is_sound=not damage)
        await self._save(repository_id, checked_at=now(), damage=damage)
        return damage

    async def _is_here(self, repository_id: int) -> bool:
        """True if the repository exists on this shard, and is not a replica."""
        async with self._db.read() as db:
            place = await shards.place(db, repository_id)
        return place is not None and place.shard == self._shard

    async def _check_replica(self, repository_id: int) -> str:
        """Check a replica. If it is damaged, discard it and copy it again."""
        damage, is_sound = "", False
        async with self._db.exclusive(lock_name(repository_id, self._shard)) as is_alone:
            if not is_alone:  # it is being updated, and stays on the list of suspects
                return ""
            async with self._db.read() as db:
                row = await replicas.get(db, repository_id, self._shard)
            if row is not None and await asyncio.to_thread(self._storage.exists, repository_id):
                try:
                    damage = await asyncio.to_thread(check_repository, self._storage.path(repository_id))
                except GitTimedOut as error:
                    log.warning("replica not checked", repository=repository_id, error=str(error))
                    return ""
                is_sound = not damage
            if damage:
                log.error("replica is damaged", repository=repository_id, damage=damage)
                # otherwise the new copy would reuse the damaged files
                await asyncio.to_thread(self._storage.move_to_trash, repository_id)
                async with self._db.transaction() as tx:
                    await replicas.reset(tx, repository_id, self._shard)
            await asyncio.to_thread(self._storage.watch.trust, repository_id, is_sound=is_sound)
        return damage

    async def _to_pack(self) -> Sequence[int]:
        before = now() - PACK_EVERY
        async with self._db.read() as db:
            return await upkeep.list_to_pack(db, self._shard, packed_before=before, most=PLANNED_AT_ONCE)

    async def _to_check(self, since: datetime | None = None) -> Sequence[int]:
        """List ids of repositories that were not checked since ``since``, or for a week without ``since``."""
        before = since or now() - CHECK_EVERY
        async with self._db.read() as db:
            return await upkeep.list_to_check(db, self._shard, before=before, most=PLANNED_AT_ONCE)

    async def _save(self, repository_id: int, **values: Any) -> None:
        """Save the columns, unless the repository was deleted."""
        async with self._db.transaction() as tx:
            if await shards.place(tx, repository_id) is not None:
                await upkeep.save(tx, repository_id, **values)
