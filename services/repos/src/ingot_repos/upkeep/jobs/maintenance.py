"""Periodic tasks: metrics of late mirrors, removal of orphaned files, and counts."""

import asyncio
from datetime import timedelta

import structlog
from prometheus_client import Gauge

from ingot_chassis.clock import now
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_git.history.licenses import licenses_column
from ingot_git.process.errors import GitError
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.store import columns as repository_columns
from ingot_repos.catalog.store import counts as repository_counts
from ingot_repos.catalog.store import mirrors
from ingot_repos.catalog.store.columns import UnreadRow
from ingot_repos.repositories.rules.deletions import CONFIRMATION_TIME, release
from ingot_repos.repositories.store import tombstones

log = structlog.get_logger()

LAG = Gauge("ingot_mirror_lag_seconds", "Delay of the mirror sync that is most overdue", ["shard"])
FAILING = Gauge("ingot_mirrors_failing", "Mirrors whose last sync failed", ["shard"])
MEASURE_EVERY = timedelta(seconds=15)
ADD_UP_EVERY = timedelta(minutes=1)


class Maintenance:
    """Periodic tasks of a shard."""

    def __init__(self, jobs: Jobs, storage: Storage, shard: str) -> None:
        self._jobs, self._db, self._storage, self._shard = jobs, jobs.database, storage, shard

    def tasks(self) -> list[PeriodicTask]:
        return [
            PeriodicTask("repos_sweep_storage", CLEANUP, self.sweep),
            PeriodicTask("repos_release_deleted", CLEANUP, self.release_unconfirmed),
            PeriodicTask("repos_fill_columns", CLEANUP, self.fill_columns),
            PeriodicTask("repos_recount", CLEANUP, self.recount),
            PeriodicTask("repos_add_up_counts", ADD_UP_EVERY, self.add_up_counts),
            PeriodicTask("repos_fill_licenses", CLEANUP, self.fill_licenses),
            PeriodicTask("repos_measure_mirrors", MEASURE_EVERY, self.measure),
        ]

    async def sweep(self) -> None:
        """Remove files of dead processes.

        Only one process does this at a time, because it visits all repositories.
        """
        async with self._db.exclusive(f"repos_sweep_storage:{self._shard}") as mine:
            if mine:
                await asyncio.to_thread(self._storage.sweep)

    async def release_unconfirmed(self) -> None:
        """Remove the files of repositories whose deletion was not confirmed within ``CONFIRMATION_TIME``."""
        async with self._db.read() as db:
            rows = await tombstones.list_older(db, now() - CONFIRMATION_TIME, self._shard)
        for row in rows:
            log.warning("deletion was not confirmed", repository=row.repository_id, awaited=row.awaited)
            async with self._db.transaction() as tx:
                if await tombstones.remove(tx, row.repository_id):
                    await release(tx, self._jobs, row.repository_id, row.shard)

    async def recount(self) -> None:
        """Recount all repositories. The result replaces the notes of changes since the last count.

        Only one process does this at a time.
        """
        async with self._db.exclusive("repos_recount") as mine:
            if mine:
                async with self._db.transaction() as tx:
                    await repository_counts.recount(tx)

    async def add_up_counts(self) -> None:
        """Add up the notes of new repositories, so totals stay cheap to read until the next recount."""
        async with self._db.transaction() as tx:
            await repository_counts.add_up(tx)

    async def fill_columns(self) -> None:
        """Fill columns of rows that were written before the columns existed."""
        async with self._db.exclusive("repos_fill_columns") as mine:
            last: int | None = 0 if mine else None
            while last is not None:
                async with self._db.transaction() as tx:
                    last = await repository_columns.fill(tx, last)

    async def fill_licenses(self) -> None:
        """Read the licences of repositories whose rows were written before the column existed."""
        async with self._db.exclusive(f"repos_fill_licenses:{self._shard}") as mine:
            last: int | None = 0 if mine else None
            while last is not None:
                async with self._db.read() as db:
                    rows = await repository_columns.list_without_licenses(db, self._shard, last)
                for row in rows:
                    await self._fill_licenses_of(row)
                last = rows[-1].id if rows else None

    async def _fill_licenses_of(self, row: UnreadRow) -> None:
        try:
            licenses = await self._storage.call(row.id, licenses_column, row.default_branch)
        except GitError:  # its files cannot be read, or are on another shard now
            return
        async with self._db.transaction() as tx:
            await repository_columns.add_licenses(tx, row, licenses)

    async def measure(self) -> None:
        """Set the metrics of mirrors. Only one process does this at a time, because it reads all mirrors."""
        async with self._db.exclusive(f"repos_measure_mirrors:{self._shard}") as mine:
            if mine:
                await self._measure()

    async def _measure(self) -> None:
        async with self._db.read() as db:
            oldest, failing = await mirrors.overdue(db, self._shard)
        late = (now() - oldest).total_seconds() if oldest is not None else 0.0
        LAG.labels(self._shard).set(max(late, 0.0))
        FAILING.labels(self._shard).set(failing)
