"""Long work: copying forks and removing the files of deleted repositories. Claim, act, record."""

import asyncio

import msgspec

from ingot_chassis.jobs import GiveUp, Job, Jobs, Work
from ingot_repos.core import forks
from ingot_repos.core.deletions import REMOVE, Remove
from ingot_repos.core.views import Viewing
from ingot_repos.git.archive import Archives
from ingot_repos.git.errors import RepositoryNotFound
from ingot_repos.git.refs import BRANCHES, TAGS, list_refs
from ingot_repos.git.storage import Storage


class Working:
    """The kinds of jobs of repos."""

    def __init__(self, jobs: Jobs, storage: Storage, archives: Archives, viewing: Viewing) -> None:
        self._jobs, self._storage, self._archives, self._viewing = jobs, storage, archives, viewing

    def kinds(self) -> dict[str, Work]:
        return {forks.FORK: self.fork, REMOVE: self.remove}

    async def fork(self, job: Job) -> None:
        """Copy the parent by hard links. A copy that is there already is a former worker's, and complete."""
        wanted = msgspec.json.decode(job.payload, type=forks.Fork)
        target = wanted.repository_id
        try:
            await asyncio.to_thread(self._storage.fork, wanted.parent_id, target)
        except RepositoryNotFound:
            async with self._jobs.database.transaction() as tx:
                await forks.give_up(tx, target)
            raise GiveUp("what was to be forked is gone") from None
        tips = await self._storage.call(target, list_refs, (BRANCHES, TAGS))
        size = await asyncio.to_thread(self._storage.size, target)
        async with self._jobs.database.transaction() as tx:
            opened = await forks.complete(tx, self._jobs, job, wanted, self._viewing, tips=tips, size=size)
        if not opened:
            await asyncio.to_thread(self._storage.delete, target)

    async def remove(self, job: Job) -> None:
        """Take the files away; nothing happens when they are gone."""
        wanted = msgspec.json.decode(job.payload, type=Remove)
        await asyncio.to_thread(self._storage.delete, wanted.repository_id)
        await asyncio.to_thread(self._archives.forget, wanted.repository_id)
