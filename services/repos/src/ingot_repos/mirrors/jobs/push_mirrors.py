"""The job that pushes a repository to a remote."""

import structlog

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.access import reaches
from ingot_git.remote.remote import Reason, RemoteFailed, push
from ingot_git.storage.storage import Storage
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import principal_of
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.mirrors import store as push_mirror_rows
from ingot_repos.mirrors.rules import push_mirrors
from ingot_repos.mirrors.store import PushMirrorRow
from ingot_repos.placement.rules.job_kinds import was_moved_to_shard
from ingot_repos.remotes.jobs.connections import RemoteConnector

log = structlog.get_logger()


class PushMirrorJobs:
    """The worker for jobs of the kind ``push_mirrors.PUSH``."""

    def __init__(
        self, jobs: Jobs, storage: Storage, identity: HttpIdentity, connector: RemoteConnector
    ) -> None:
        self._jobs, self._db, self._storage = jobs, jobs.database, storage
        self._identity, self._connector = identity, connector

    def work(self) -> dict[str, Work]:
        return {push_mirrors.PUSH: self.push}

    async def push(self, job: Job) -> None:
        """Push all branches and tags, and delete other branches and tags of the remote.

        The user who added the push mirror must still be an administrator of the repository.
        """
        started, mirror_id = now(), int(job.key)
        async with self._db.read() as db:
            mirror = await push_mirror_rows.get(db, mirror_id)
            row = await repositories.get_unfiltered(db, mirror.repository_id) if mirror else None
        if mirror is None or row is None or row.state != RepositoryState.READY:
            return
        payload = push_mirrors.PushToMirror(mirror_id)
        if await was_moved_to_shard(self._jobs, job, push_mirrors.PUSH, row.shard, payload):
            return
        reason: Reason | None = None
        if not await self._may_push(row, mirror.user_id):
            reason = "access"
        elif not row.empty:
            try:
                await self._push(row, mirror)
            except RemoteFailed as error:
                reason = error.reason
        if reason is not None:
            log.warning("push mirror failed", repository=row.id, mirror=mirror_id, reason=reason)
        async with self._db.transaction() as tx:
            await push_mirrors.record(tx, self._jobs, job, mirror_id, started=started, reason=reason or "")

    async def _push(self, row: RepositoryRow, mirror: PushMirrorRow) -> None:
        async def is_needed() -> bool:
            async with self._db.read() as db:
                is_there = await push_mirror_rows.get(db, mirror.id) is not None
            return is_there and await self._may_push(row, mirror.user_id)

        path = self._storage.path(row.id)
        async with self._connector.open(mirror) as connection:
            await self._connector.watch(
                connection, push(connection.remote, path, connection.progress), is_needed
            )

    async def _may_push(self, row: RepositoryRow, user_id: int) -> bool:
        principal = await principal_of(self._identity, user_id)
        if not principal.signed_in:
            return False
        async with self._db.read() as db:
            visible_row = await repositories.get(db, access.viewer(principal), row.id)
        return visible_row is not None and reaches(access.level(visible_row, principal), "admin")
