"""Jobs that copy the commits of forks and remove the files of deleted repositories."""

import asyncio

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
            await asyncio.to_thread(self._storage.fork, payload.parent_id, target)
            tips = await self._storage.call(target, readable_tips)
        except RepositoryNotFound:
            await self._give_up(target, "the parent of the fork was deleted")
            return
        except RepositoryDamaged as error:
            log.warning("fork not copied", parent=payload.parent_id, error=str(error))
            await self._give_up(target, "the parent of the fork is damaged")
            return
        size = await asyncio.to_thread(self._storage.size, target)
        async with self._jobs.database.transaction() as tx:
            is_ready = await forks.complete(
                tx, self._jobs, job, payload, self._presenter, tips=tips, size=size
            )
        if not is_ready:
            await asyncio.to_thread(self._storage.delete, target)

    async def _give_up(self, repository_id: int, reason: str) -> None:
        """Raises GiveUp, unless the fork was deleted: its files may have been removed while they were copied."""
        async with self._jobs.database.transaction() as tx:
            is_there = await forks.give_up(tx, repository_id)
        if is_there:
            raise GiveUp(reason) from None

    async def remove(self, job: Job) -> None:
        """Remove the files of a deleted repository. Idempotent."""
        payload = msgspec.json.decode(job.payload, type=Remove)
        await asyncio.to_thread(self._storage.delete, payload.repository_id)
        await asyncio.to_thread(self._archives.remove, payload.repository_id)
        await self._objects.delete_below(f"{OBJECTS}/{payload.repository_id}")
