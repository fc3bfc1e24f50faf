"""Measures how far the deliveries are behind."""

import asyncio

from prometheus_client import Gauge

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_hooks.store import deliveries

EVERY_SECONDS = 15.0

LAG = Gauge("ingot_hook_lag_seconds", "How long the delivery waits that is due for longest")


class LagMonitor:
    """Sets the metric ``ingot_hook_lag_seconds``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            await self.measure()
            await asyncio.sleep(EVERY_SECONDS)

    async def measure(self) -> None:
        """The seconds since the oldest due delivery was due; 0 if none is due."""
        async with self._db.read() as db:
            since = await deliveries.due_since(db)
        LAG.set((now() - since).total_seconds() if since is not None else 0.0)
