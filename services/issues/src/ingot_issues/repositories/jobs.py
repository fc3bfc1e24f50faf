"""A loop that announces counts of open issues: once per repository for all changes within a second."""

import asyncio

from ingot_chassis.db.database import Database
from ingot_issues.repositories.rules.open_counts import announce_open_counts
from ingot_issues.repositories.store import counters

INTERVAL_SECONDS = 1.0
"""The longest delay of an announcement."""
MOST_REPOSITORIES = 100
"""Maximum number of repositories per step."""


class OpenCountsAnnouncer:
    """A background loop that announces counts."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def run(self) -> None:
        """Announce changed counts until cancelled."""
        while True:
            if await self.step() < MOST_REPOSITORIES:
                await asyncio.sleep(INTERVAL_SECONDS)

    async def step(self) -> int:
        """Announce at most MOST_REPOSITORIES changed counts. Return their number."""
        async with self._db.read() as db:
            changed = await counters.list_changed(db, MOST_REPOSITORIES)
        announced = 0
        for repository_id in changed:
            async with self._db.transaction() as tx:
                announced += await announce_open_counts(tx, repository_id)
        return announced
