"""What nobody asks for: measuring how far behind mirrors are, and removing what dead processes left on the disk."""

import asyncio

from prometheus_client import Gauge

from ingot_chassis.database import Database
from ingot_chassis.tables import now
from ingot_repos.git.storage import Storage
from ingot_repos.store import remotes

LAG = Gauge(
    "ingot_mirror_lag_seconds", "By how much the sync of the mirror that waits longest is late", ["shard"]
)
FAILING = Gauge("ingot_mirrors_failing", "Mirrors whose last sync failed", ["shard"])
MEASURE_SECONDS = 15.0
SWEEP_EVERY = 240
"""Measurements from one sweep to the next."""


class Upkeep:
    """One loop for both."""

    def __init__(self, database: Database, storage: Storage, shard: str) -> None:
        self._db, self._storage, self._shard = database, storage, shard

    async def run(self) -> None:
        while True:
            await asyncio.to_thread(self._storage.sweep)
            for _ in range(SWEEP_EVERY):
                await self.measure()
                await asyncio.sleep(MEASURE_SECONDS)

    async def measure(self) -> None:
        """Set the metrics."""
        async with self._db.read() as db:
            oldest, failing = await remotes.overdue(db, self._shard)
        late = (now() - oldest).total_seconds() if oldest is not None else 0.0
        LAG.labels(self._shard).set(max(late, 0.0))
        FAILING.labels(self._shard).set(failing)
