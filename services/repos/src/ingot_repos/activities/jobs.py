"""The sweep of old activities."""

from datetime import timedelta

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_repos.activities import store


class ActivitySweep:
    """A sweep that removes activities older than ``keep``."""

    def __init__(self, database: Database, keep: timedelta) -> None:
        self._db, self._keep = database, keep

    async def sweep(self) -> None:
        """Remove old activities, in transactions of bounded size."""
        until, removed = now() - self._keep, 1
        while removed:
            async with self._db.transaction() as tx:
                removed = await store.remove_older(tx, until)
