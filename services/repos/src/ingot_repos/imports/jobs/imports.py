"""The job that fetches the commits of an imported repository."""

import asyncio
import math
import time
from datetime import timedelta

import structlog

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work, Workers
from ingot_git.history.licenses import licenses_column
from ingot_git.refs.pull_heads import PULLS
from ingot_git.refs.refs import BRANCHES, TAGS, default_branch, list_refs
from ingot_git.remote.remote import PullHeads, Reason, RemoteFailed, fetch, list_remote_refs
from ingot_git.storage.storage import Storage
from ingot_remotes.archives.layout import BUNDLE
from ingot_remotes.interface.source import SourceBusy
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.imports import store as sources
from ingot_repos.imports.jobs.archives import ArchiveUnpacker
from ingot_repos.imports.jobs.forge_data import ForgeData, GitAddress
from ingot_repos.imports.jobs.repeats import RepeatedImports
from ingot_repos.imports.rules import lifecycle as imports
from ingot_repos.imports.store import SourceRow
from ingot_repos.placement.rules.job_kinds import was_moved_to_shard
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.jobs.connections import (
    RemoteAddress,
    RemoteConnection,
    RemoteConnector,
    default_branch_of,
)
from ingot_repos.remotes.jobs.lfs import LfsFetches
from ingot_repos.remotes.store import RemoteRow

log = structlog.get_logger()

TRIES = 3
TRANSIENT: frozenset[Reason] = frozenset(("unreachable", "broken", "room", "lfs-unreachable"))
"""Reasons that may be temporary. The import is retried, up to ``TRIES`` attempts in all."""


class ImportJobs:
    """The worker for jobs of the kinds ``imports.MIGRATE`` and ``imports.REPEAT``."""

    def __init__(
        self,
        jobs: Jobs,
        storage: Storage,
        presenter: Presenter,
        connector: RemoteConnector,
        lfs_fetches: LfsFetches,
        forge_data: ForgeData,
        archives: ArchiveUnpacker,
        repeats: RepeatedImports,
    ) -> None:
        self._jobs, self._db, self._storage, self._presenter = jobs, jobs.database, storage, presenter
        self._connector, self._lfs_fetches = connector, lfs_fetches
        self._forge_data, self._archives, self._repeats = forge_data, archives, repeats

    def work(self) -> dict[str, Work]:
        return {imports.MIGRATE: self.run, imports.REPEAT: self.run}

    async def run(self, job: Job) -> None:
        """Fetch the commits and make the repository ready, or run a repeat.

        If the files of a new repository exist, an earlier worker has fetched them completely.
        """
        repository_id = int(job.key)
        async with self._db.transaction() as tx:
            row = await repositories.get_unfiltered(tx, repository_id)
            remote = await import_rows.get_remote(tx, repository_id)
            is_running = await import_rows.change(
                tx, repository_id, import_rows.UNENDED, state=ImportState.RUNNING
            )
            source, running = await sources.get(tx, repository_id), await import_rows.get(tx, repository_id)
        if row is None or remote is None or running is None or not is_running:
            await self._stop(job, repository_id)
            return
        if running.repeat:
            await self._repeat(job, row, remote, source)
            return
        try:
            if not self._storage.exists(repository_id):
                pulls = None
                if source is not None and "pulls" in sources.kinds_of(source):
                    pulls = await self._forge_data.pull_heads(remote, source)
                await self._fetch(row, remote, pulls, source.archive if source is not None else None)
            source = await self._source(repository_id)
            if source is not None:
                await self._forge_data.fetch(row, remote, source)
            await asyncio.to_thread(self._storage.clear, repository_id)
        except RemoteFailed as error:
            await self._fail(job, repository_id, error)
            return
        except SourceBusy as busy:
            await self._pause(job, repository_id, busy.seconds)
            return
        main = await self._storage.call(repository_id, default_branch)
        heads = await self._storage.call(repository_id, list_refs, (PULLS,))
        tips = await self._storage.call(repository_id, list_refs, (BRANCHES, TAGS))
        size = await asyncio.to_thread(self._storage.size, repository_id)
        licenses = await self._storage.call(repository_id, licenses_column, main)
        async with self._db.transaction() as tx:
            is_ready = await imports.complete(
                tx,
                self._jobs,
                job,
                self._presenter,
                row,
                tips=tips,
                heads=heads,
                main=main,
                size=size,
                licenses=licenses,
            )
        if not is_ready:
            await self._stop(job, repository_id)

    async def _repeat(
        self, job: Job, row: RepositoryRow, remote: RemoteRow, source: SourceRow | None
    ) -> None:
        """Fetch changes since the last run into a repository that is in use."""
        payload = imports.Migrate(row.id)
        if await was_moved_to_shard(self._jobs, job, imports.REPEAT, row.shard, payload):
            return
        try:
            await self._repeats.fetch(row, remote, source)
        except RemoteFailed as error:
            await self._fail(job, row.id, error)
            return
        except SourceBusy as busy:
            await self._pause(job, row.id, busy.seconds)
            return
        async with self._db.transaction() as tx:
            is_complete = await imports.complete_repeat(tx, self._jobs, job, self._presenter, row)
        if not is_complete:
            await self._stop(job, row.id)

    async def _pause(self, job: Job, repository_id: int, seconds: float) -> None:
        """Run the job again when the source allows it. This does not count as a failed attempt."""
        async with self._db.transaction() as tx:
            await sources.pause(tx, repository_id, seconds, "busy", failures=0)
            await self._jobs.finish(tx, job, again_at=now() + timedelta(seconds=seconds))

    async def _stop(self, job: Job, repository_id: int) -> None:
        """End the job of a cancelled import; a restarted import runs again.

        Delete files of a deleted repository.
        """
        async with self._db.transaction() as tx:
            is_deleted = await repositories.get_unfiltered(tx, repository_id) is None
            await imports.stop(tx, self._jobs, job, repository_id)
        if is_deleted:
            await asyncio.to_thread(self._storage.delete, repository_id)

    async def _fail(self, job: Job, repository_id: int, error: RemoteFailed) -> None:
        if error.reason == "room":
            # Partial data would take the remaining space from others.
            await asyncio.to_thread(self._storage.clear, repository_id)
        if error.reason == "cancelled":
            await self._stop(job, repository_id)
        elif error.reason in TRANSIENT and job.attempts < TRIES:
            raise error
        else:
            log.warning("import failed", repository=repository_id, reason=error.reason)
            async with self._db.transaction() as tx:
                await imports.fail(tx, self._jobs, job, self._presenter, repository_id, error.reason)

    async def _source(self, repository_id: int) -> SourceRow | None:
        async with self._db.read() as db:
            return await sources.get(db, repository_id)

    async def _fetch(
        self, row: RepositoryRow, remote: RemoteRow, pulls: PullHeads | None, archive: str | None
    ) -> None:
        """Fetch the default branch, then all refs, then LFS objects. A retry keeps fetched data.

        ``pulls``: also fetch the heads of pull requests, under their local numbers. ``archive`` names the
        archive that is read instead of the remote. LFS objects that the remote lacks are recorded and are not
        an error.
        """
        path = await asyncio.to_thread(self._storage.import_staging, row.id, row.default_branch)
        address: RemoteAddress = remote
        if archive is not None:
            bundle = await self._archives.unpack(archive, BUNDLE)
            if bundle is None:  # the repository was empty
                await asyncio.to_thread(self._storage.publish_import, row.id, row.default_branch)
                return
            address = GitAddress(str(bundle))
        async with self._connector.open(address) as connection:

            async def fetch_all() -> tuple[str, list[str]]:
                offer = await list_remote_refs(connection.remote, connection.progress, pulls=pulls)
                main = default_branch_of(offer) or row.default_branch
                if archive is not None and BRANCHES + row.default_branch in offer.refs:
                    main = row.default_branch  # a bundle does not tell it
                first = [name for name in (BRANCHES + main,) if name in offer.refs]
                await fetch(connection.remote, path, first, connection.progress)
                others = {
                    name: pulls.local_name(name) if pulls is not None else name
                    for name in offer.refs
                    if name not in first
                }
                await fetch(connection.remote, path, others, connection.progress)
                if archive is not None:
                    connection.progress.phase, connection.progress.at = "lfs", math.inf
                    await self._archives.check(path)
                    await self._archives.store_lfs(row, archive)
                    connection.progress.at = time.monotonic()
                if archive is not None or remote.lfs_url is None:
                    return main, []
                return main, await self._lfs_fetches.fetch(row, remote.lfs_url, connection, path)

            main, absent = await self._connector.watch(
                connection, fetch_all(), lambda: self._save_progress(row.id, connection)
            )
            await self._save_progress(row.id, connection)
        async with self._db.transaction() as tx:
            await import_rows.record_lfs(tx, row.id, "lfs-missing" if absent else "", absent)
        await asyncio.to_thread(self._storage.publish_import, row.id, main)

    async def _save_progress(self, repository_id: int, connection: RemoteConnection) -> bool:
        """Save the progress. Return False if the import was cancelled or deleted."""
        async with self._db.transaction() as tx:
            return await import_rows.change(
                tx,
                repository_id,
                (ImportState.RUNNING,),
                phase=connection.progress.phase,
                percent=connection.progress.percent,
                received=connection.received,
            )


class ImportWorkers(Workers):
    """Workers for imports. They are separate because remotes may be slow."""
