"""The lag of deliveries, for a metric and the doctor."""

import asyncio

from prometheus_client import Gauge

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.events.doctor import LONGEST_WAIT, utc
from ingot_hooks.deliveries.store import queries as deliveries

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
        """Set the metric to the seconds since the oldest due delivery was due; 0 if none is due."""
        async with self._db.read() as db:
            since = await deliveries.due_since(db)
        LAG.set((now() - since).total_seconds() if since is not None else 0.0)


async def examine_deliveries(database: Database) -> list[str]:
    """Return a line for the operator if deliveries have been due for long, else nothing."""
    async with database.read() as db:
        waiting = await deliveries.get_waiting(db, now() - LONGEST_WAIT)
    if waiting.since is None:
        return []
    since = f"the first since {utc(waiting.since)}"
    line = f"hooks: {waiting.total} deliveries are due for more than 5 minutes, {since}; see that a process"
    return [f"{line} of hooks does the background work, and that no endpoint hangs for which many wait"]
