"""Jobs that delete the repositories of an account, and the files of deleted repositories."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec
import structlog

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import MAX_ID
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work, Workers
from ingot_chassis.objects.store import ObjectStore
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.events import PurgeRequested
from ingot_git.history.archive import Archives
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.releases.rules.assets import OBJECTS
from ingot_repos.repositories.rules import deletions
from ingot_repos.repositories.rules.deletions import DELETE_ALL, PURGE, REMOVE, DeleteAll, Remove

log = structlog.get_logger()
BATCH = 100


class RepositoryJobs:
    """The worker of jobs that delete repositories and their files."""

    def __init__(
        self, jobs: Jobs, presenter: Presenter, storage: Storage, archives: Archives, objects: ObjectStore
    ) -> None:
        self._jobs, self._presenter = jobs, presenter
        self._storage, self._archives, self._objects = storage, archives, objects

    def work(self) -> dict[str, Work]:
        return {REMOVE: self.remove, PURGE: self.purge, DELETE_ALL: self.delete_all}

    async def purge(self, job: Job) -> None:
        """Delete all repositories of an account, each in a transaction of its own. Idempotent."""
        request = msgspec.json.decode(job.payload, type=PurgeRequested)
        await self._delete_owned(request.account_id, MAX_ID, request.requested_by)

    async def delete_all(self, job: Job) -> None:
        """Delete the repositories that an organization had at the time of the request. Idempotent.

        Each repository is deleted in a transaction of its own.
        """
        request = msgspec.json.decode(job.payload, type=DeleteAll)
        await self._delete_owned(request.account_id, request.newest_id, request.requested_by)

    async def _delete_owned(self, account_id: int, newest_id: int, sender: User) -> None:
        while rows := await self._list_owned(account_id, newest_id):
            for row in rows:
                with suppress(NotFound):  # deleted by a user
                    async with self._jobs.database.transaction() as tx:
                        await deletions.delete(tx, self._jobs, self._presenter, row, sender)

    async def _list_owned(self, account_id: int, newest_id: int) -> Sequence[RepositoryRow]:
        async with self._jobs.database.read() as db:
            return await repositories.list_owned(db, account_id, newest_id, BATCH)

    async def remove(self, job: Job) -> None:
        """Remove the files of a deleted repository. Idempotent."""
        payload = msgspec.json.decode(job.payload, type=Remove)
        await asyncio.to_thread(self._storage.delete, payload.repository_id)
        await asyncio.to_thread(self._archives.remove, payload.repository_id)
        await self._objects.delete_below(f"{OBJECTS}/{payload.repository_id}")


class RepositoryWorkers(Workers):
    """Workers for short jobs: new forks and removal of files."""
