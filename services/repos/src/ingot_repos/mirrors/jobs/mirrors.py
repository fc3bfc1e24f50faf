"""The job that syncs a mirror with its remote."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import structlog

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work, Workers
from ingot_git.process.errors import RepositoryNotFound
from ingot_git.refs.ref_locks import OLD_SECONDS
from ingot_git.refs.refs import (
    BRANCHES,
    TAGS,
    ZERO_OID,
    RefChange,
    list_refs,
    set_default_branch,
    update_refs,
)
from ingot_git.remote.remote import INCOMING, RemoteFailed, RemoteRefs, fetch, list_remote_refs
from ingot_git.storage.storage import Storage
from ingot_git.storage.temporary_files import remove_temporary_files
from ingot_repos.catalog.store import mirrors as mirror_rows
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.mirrors.rules import schedule
from ingot_repos.placement.rules.job_kinds import was_moved_to_shard
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.jobs.connections import RemoteConnector, default_branch_of
from ingot_repos.remotes.jobs.lfs import LfsFetches
from ingot_repos.remotes.store import RemoteRow

log = structlog.get_logger()


class MirrorJobs:
    """The worker of jobs of the kind ``schedule.SYNC``."""

    def __init__(
        self,
        jobs: Jobs,
        storage: Storage,
        presenter: Presenter,
        pushes: Pushes,
        connector: RemoteConnector,
        lfs_fetches: LfsFetches,
    ) -> None:
        self._jobs, self._db, self._storage, self._presenter = jobs, jobs.database, storage, presenter
        self._pushes, self._connector, self._lfs_fetches = pushes, connector, lfs_fetches

    def work(self) -> dict[str, Work]:
        return {schedule.SYNC: self.sync}

    async def sync(self, job: Job) -> None:
        """Set the refs of a mirror to the refs of its remote, and announce the changes.

        An archived mirror is not fetched. A failure is recorded, and the next sync is scheduled.
        """
        started = now()
        repository_id = int(job.key)
        async with self._db.read() as db:
            row = await repositories.get_unfiltered(db, repository_id)
            remote = await import_rows.get_remote(db, repository_id)
            mirror = await mirror_rows.get(db, repository_id)
        if row is None or remote is None or mirror is None or mirror.next_run_at is None:
            return
        if await was_moved_to_shard(self._jobs, job, schedule.SYNC, row.shard, schedule.Sync(row.id)):
            return
        try:
            main = row.default_branch if row.archived else await self._fetch(row, remote)
        except RemoteFailed as error:
            if error.reason == "room":
                # A partial pack would take the remaining space until the next sync.
                await self._clean(repository_id)
            log.warning("mirror not synced", repository=repository_id, reason=error.reason)
            async with self._db.transaction() as tx:
                await schedule.fail(tx, self._jobs, job, repository_id, started=started, reason=error.reason)
            return
        async with self._db.transaction() as tx:
            await schedule.succeed(tx, self._jobs, job, self._presenter, row, started=started, main=main)

    async def _clean(self, repository_id: int) -> None:
        path = self._storage.path(repository_id)
        await asyncio.to_thread(remove_temporary_files, path, lock_seconds=OLD_SECONDS)

    async def _fetch(self, row: RepositoryRow, remote: RemoteRow) -> str | None:
        """Fetch branches and tags and move the refs. Return the remote's default branch, or None if unknown.

        Raises RemoteFailed.
        """
        path = self._storage.path(row.id)
        try:
            before = await self._storage.call(row.id, list_refs, (BRANCHES, TAGS))
        except RepositoryNotFound:
            raise RemoteFailed("failed") from None
        await self._clean(row.id)
        async with self._connector.open(remote) as connection:

            async def fetch_moved() -> RemoteRefs:
                offer = await list_remote_refs(connection.remote, connection.progress)
                moved = [name for name, oid in offer.refs.items() if before.get(name) != oid]
                await self._drop_incoming(row.id, offer)
                await fetch(connection.remote, path, moved, connection.progress, into=INCOMING)
                return offer

            async def is_needed() -> bool:
                async with self._db.read() as db:
                    return await repositories.get_unfiltered(db, row.id) is not None

            offer = await self._connector.watch(connection, fetch_moved(), is_needed)
            if remote.lfs_url is not None and (remote.lfs_reason or before != offer.refs):
                new_in = "" if remote.lfs_reason else INCOMING
                async with self._pushes.uploading(row.id, remote.user_id):
                    fetch_lfs = self._lfs_fetches.fetch(row, remote.lfs_url, connection, path, new_in=new_in)
                    await self._record_lfs(row.id, self._connector.watch(connection, fetch_lfs, is_needed))
        main = default_branch_of(offer)
        await self._move(row, remote.user_id, before, set(offer.refs))
        if main is not None and main != row.default_branch:
            async with self._pushes.uploading(row.id, remote.user_id):
                await self._storage.call(row.id, set_default_branch, main)
        return main

    async def _drop_incoming(self, repository_id: int, offer: RemoteRefs) -> None:
        """Delete refs that a dead worker fetched and that the remote no longer has.

        Their names may conflict with new names.
        """
        incoming = await self._storage.call(repository_id, list_refs, (INCOMING,))
        changes = [
            RefChange(name, oid, ZERO_OID)
            for name, oid in incoming.items()
            if "refs/" + name.removeprefix(INCOMING) not in offer.refs
        ]
        await self._update(self._storage.path(repository_id), changes)

    async def _record_lfs(self, repository_id: int, fetch_lfs: Awaitable[list[str]]) -> None:
        """Fetch LFS objects before branches point to them, and record a failure.

        A failure does not stop the sync. The next sync then searches the whole history. Raises RemoteFailed
        if the sync was cancelled.
        """
        reason, absent = "", list[str]()
        try:
            absent = await fetch_lfs
            reason = "lfs-missing" if absent else ""
        except RemoteFailed as error:
            if error.reason == "cancelled":
                raise
            reason = error.reason
        if reason:
            log.warning("objects of LFS not fetched", repository=repository_id, reason=reason)
        async with self._db.transaction() as tx:
            await import_rows.record_lfs(tx, repository_id, reason, absent)

    async def _move(
        self, row: RepositoryRow, user_id: int, before: dict[str, str], remote_names: set[str]
    ) -> None:
        """Move the refs to the fetched commits. Delete refs first, because their names may conflict.

        The fetched refs are deleted last, also the fetched refs of a worker that died before this step.
        """
        path = self._storage.path(row.id)
        incoming = await self._storage.call(row.id, list_refs, (INCOMING,))
        fetched = {"refs/" + name.removeprefix(INCOMING): oid for name, oid in incoming.items()}
        deleted = [RefChange(name, oid, ZERO_OID) for name, oid in before.items() if name not in remote_names]
        moved = [
            RefChange(name, before.get(name, ZERO_OID), oid)
            for name, oid in fetched.items()
            if name in remote_names and before.get(name) != oid
        ]
        if deleted or moved or incoming:
            names = [change.name for change in (*deleted, *moved)]
            fetched_refs = [RefChange(name, oid, ZERO_OID) for name, oid in incoming.items()]

            async def move() -> None:
                for changes in (deleted, moved, fetched_refs):
                    await self._update(path, changes)

            await self._pushes.moved(row.id, user_id, names, move)

    @staticmethod
    async def _update(path: Path, changes: list[RefChange]) -> None:
        if changes:
            await asyncio.to_thread(update_refs, path, changes)


class MirrorWorkers(Workers):
    """Workers for mirrors and push mirrors. They are separate because remotes may be slow."""
