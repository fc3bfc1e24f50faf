"""Counts of the fetches and pushes of each repository, kept in memory and written once a minute.

The counts of the last minute are lost when a process ends. They are only used to balance shards.
"""

import asyncio
from collections import Counter

from ingot_chassis.db.database import Database
from ingot_repos.placement.store import loads

WRITE_SECONDS = 60.0


class RepositoryLoads:
    """Request counts of this process that are not written yet."""

    def __init__(self, database: Database) -> None:
        self._db, self._counts = database, Counter[int]()

    def count(self, repository_id: int) -> None:
        """Count one request of a git client. A fetch has up to two requests, a push one."""
        self._counts[repository_id] += 1

    async def write(self) -> None:
        """Add the counts to the database. If this fails, the next call retries."""
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
