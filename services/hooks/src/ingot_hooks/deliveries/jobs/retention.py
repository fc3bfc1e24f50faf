"""Deletes old deliveries in a final state, in small batches."""

from datetime import timedelta

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_hooks.deliveries.store import queries as deliveries
from ingot_hooks.settings import Settings

BATCH = 1000


class Retention:
    """Deletes old deliveries, in one process of the service at a time."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db, self._age = database, timedelta(days=settings.retention_days)

    async def step(self) -> int:
        """Delete all deliveries in a final state that are older than the retention time.

        Return their number; 0 while another process deletes.
        """
        count = 0
        async with self._db.exclusive("hooks retention") as is_ours:
            while is_ours:
                async with self._db.transaction() as tx:
                    dropped = await deliveries.drop_older(tx, now() - self._age, BATCH)
                count += dropped
                if dropped < BATCH:
                    break
        return count
