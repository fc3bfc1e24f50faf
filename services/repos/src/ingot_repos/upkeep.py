"""What nobody asks for: measuring how far behind mirrors are, and removing what is left on the disk."""

import asyncio

import structlog
from prometheus_client import Gauge

from ingot_chassis.jobs import Jobs
from ingot_chassis.tables import now
from ingot_repos.core.deletions import PATIENCE, free
from ingot_repos.git.storage import Storage
from ingot_repos.store import remotes, tombstones

log = structlog.get_logger()

LAG = Gauge(
    "ingot_mirror_lag_seconds", "By how much the sync of the mirror that waits longest is late", ["shard"]
)
FAILING = Gauge("ingot_mirrors_failing", "Mirrors whose last sync failed", ["shard"])
MEASURE_SECONDS = 15.0
SWEEP_EVERY = 240
"""Measurements from one sweep to the next."""


class Upkeep:
    """One loop for both."""

    def __init__(self, jobs: Jobs, storage: Storage, shard: str) -> None:
        self._jobs, self._db, self._storage, self._shard = jobs, jobs.database, storage, shard

    async def run(self) -> None:
        while True:
            await asyncio.to_thread(self._storage.sweep)
            await self.free_unconfirmed()
            for _ in range(SWEEP_EVERY):
                await self.measure()
                await asyncio.sleep(MEASURE_SECONDS)

    async def free_unconfirmed(self) -> None:
        """Free the files of repositories that a service has not forgotten in the time that it may take."""
        async with self._db.read() as db:
            left = await tombstones.older(db, now() - PATIENCE, self._shard)
        for row in left:
            log.warning("deletion was not confirmed", repository=row.repository_id, awaited=row.awaited)
            async with self._db.transaction() as tx:
                if await tombstones.remove(tx, row.repository_id):
                    await free(tx, self._jobs, row.repository_id, row.shard)

    async def measure(self) -> None:
        """Set the metrics."""
        async with self._db.read() as db:
            oldest, failing = await remotes.overdue(db, self._shard)
        late = (now() - oldest).total_seconds() if oldest is not None else 0.0
        LAG.labels(self._shard).set(max(late, 0.0))
        FAILING.labels(self._shard).set(failing)
