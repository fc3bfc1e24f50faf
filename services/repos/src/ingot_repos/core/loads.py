"""How much git clients ask of each repository: fetches and pushes, counted in memory and written once in a minute.

What a process counted in its last minute is lost when it ends: the numbers serve the balance of shards, nothing else.
"""

import asyncio
from collections import Counter

from ingot_chassis.db.database import Database
from ingot_repos.store import loads

WRITE_SECONDS = 60.0


class RepositoryLoads:
    """Counts of this process that are not written yet."""

    def __init__(self, database: Database) -> None:
        self._db, self._counts = database, Counter[int]()

    def count(self, repository_id: int) -> None:
        """One request of a git client more: a fetch has up to two of them, a push one."""
        self._counts[repository_id] += 1

    async def write(self) -> None:
        """Add what was counted to the database. If that fails, the next time does it."""
        counts, self._counts = self._counts, Counter()
        try:
            async with self._db.transaction() as tx:
                await loads.add(tx, counts)
        except BaseException:
            self._counts += counts
            raise

    async def write_for_ever(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            if self._counts:
                await self.write()
