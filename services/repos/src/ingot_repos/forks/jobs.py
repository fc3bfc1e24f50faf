"""The job that copies the commits of a new fork."""

import asyncio

import msgspec
import structlog

from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import GiveUp, Work
from ingot_git.changes.branches import readable_tips
from ingot_git.process.errors import RepositoryDamaged, RepositoryNotFound
from ingot_git.storage.storage import Storage
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.forks.rules import creation as forks
from ingot_repos.presentation.rules.presenter import Presenter

log = structlog.get_logger()


class ForkJobs:
    """The worker of jobs that copy commits to forks."""

    def __init__(self, jobs: Jobs, storage: Storage, presenter: Presenter, identity: HttpIdentity) -> None:
        self._jobs, self._storage, self._presenter, self._identity = jobs, storage, presenter, identity

    def work(self) -> dict[str, Work]:
        return {forks.FORK: self.fork}

    async def fork(self, job: Job) -> None:
        """Copy branches and tags of the parent.

        The forker must be able to read the parent before and after the copy. An existing copy is complete: an
        earlier worker has made it.
        """
        payload = msgspec.json.decode(job.payload, type=forks.Fork)
        target = payload.repository_id
        await self._require_access(payload)
        try:
            await asyncio.to_thread(self._storage.fork, payload.parent_id, target)
            tips = await self._storage.call(target, readable_tips)
        except RepositoryNotFound:
            await self._give_up(payload, "the parent of the fork was deleted")
            return
        except RepositoryDamaged as error:
            log.warning("fork not copied", parent=payload.parent_id, error=str(error))
            await self._give_up(payload, "the parent of the fork is damaged")
            return
        size = await asyncio.to_thread(self._storage.size, target)
        await self._require_access(payload)
        async with self._jobs.database.transaction() as tx:
            is_ready = await forks.complete(
                tx, self._jobs, job, payload, self._presenter, tips=tips, size=size
            )
        if not is_ready:
            await asyncio.to_thread(self._storage.delete, target)

    async def _require_access(self, fork: forks.Fork) -> None:
        """Remove the copy and raise GiveUp if the forker has lost access."""
        if not await forks.is_allowed(self._jobs.database, self._identity, fork):
            await asyncio.to_thread(self._storage.delete, fork.repository_id)
            await self._give_up(fork, "the forker may no longer read the parent of the fork")

    async def _give_up(self, fork: forks.Fork, reason: str) -> None:
        """Raise GiveUp, unless the fork was deleted: the deletion may have removed its files."""
        async with self._jobs.database.transaction() as tx:
            is_there = await forks.give_up(tx, fork)
        if is_there:
            raise GiveUp(reason) from None
