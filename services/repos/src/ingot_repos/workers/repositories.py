"""Jobs that copy the commits of forks and remove the files of deleted repositories."""

import asyncio
from typing import NoReturn

import msgspec
import structlog

from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import GiveUp, Work
from ingot_chassis.objects.store import ObjectStore
from ingot_repos.core import forks
from ingot_repos.core.deletions import REMOVE, Remove
from ingot_repos.core.presenter import Presenter
from ingot_repos.core.release_assets import OBJECTS
from ingot_repos.git.archive import Archives
from ingot_repos.git.branches import readable_tips
from ingot_repos.git.errors import RepositoryDamaged, RepositoryNotFound
from ingot_repos.git.storage import Storage

log = structlog.get_logger()


class RepositoryJobs:
    """The work of each kind of these jobs."""

    def __init__(
        self, jobs: Jobs, storage: Storage, archives: Archives, objects: ObjectStore, presenter: Presenter
    ) -> None:
        self._jobs, self._storage, self._archives = jobs, storage, archives
        self._objects, self._presenter = objects, presenter

    def work(self) -> dict[str, Work]:
        return {forks.FORK: self.fork, REMOVE: self.remove}

    async def fork(self, job: Job) -> None:
        """Copy branches and tags of the parent. A copy that is there was made by an earlier worker, and is complete."""
        payload = msgspec.json.decode(job.payload, type=forks.Fork)
        target = payload.repository_id
        try:
            tips = await self._copy(payload)
        except RepositoryNotFound:
            await self._give_up(target, "the parent of the fork was deleted")
        except RepositoryDamaged:
            await self._give_up(target, "the parent of the fork is damaged")
        size = await asyncio.to_thread(self._storage.size, target)
        async with self._jobs.database.transaction() as tx:
            is_ready = await forks.complete(
                tx, self._jobs, job, payload, self._presenter, tips=tips, size=size
            )
        if not is_ready:
            await asyncio.to_thread(self._storage.delete, target)

    async def _copy(self, fork: forks.Fork) -> dict[str, str]:
        """The tips of the copy. Raises RepositoryNotFound, and RepositoryDamaged if something is missing twice.

        Something may seem to be missing while git replaces one pack by another.
        """
        try:
            return await self._copy_once(fork)
        except RepositoryDamaged as error:
            log.warning(
                "fork not copied", parent=fork.parent_id, error=str(error), cause=repr(error.__cause__)
            )
        return await self._copy_once(fork)

    async def _copy_once(self, fork: forks.Fork) -> dict[str, str]:
        await asyncio.to_thread(self._storage.fork, fork.parent_id, fork.repository_id)
        return await self._storage.call(fork.repository_id, readable_tips)

    async def _give_up(self, repository_id: int, reason: str) -> NoReturn:
        async with self._jobs.database.transaction() as tx:
            await forks.give_up(tx, repository_id)
        raise GiveUp(reason) from None

    async def remove(self, job: Job) -> None:
        """Remove the files of a deleted repository. Idempotent."""
        payload = msgspec.json.decode(job.payload, type=Remove)
        await asyncio.to_thread(self._storage.delete, payload.repository_id)
        await asyncio.to_thread(self._archives.remove, payload.repository_id)
        await self._objects.delete_below(f"{OBJECTS}/{payload.repository_id}")
