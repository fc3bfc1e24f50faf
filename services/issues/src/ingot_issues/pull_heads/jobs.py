"""Repair of the visibility of heads in repos.

Processes of an older release do not set it. During an update some of them still close and reopen pull
requests.
"""

from datetime import timedelta

from ingot_chassis.db.database import Database
from ingot_chassis.http.policy import MAX_ID
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_issues.pull_heads import rules as pull_heads
from ingot_issues.pull_heads import store

POLL_INTERVAL = timedelta(minutes=1)
MOST_AT_ONCE = 1000
"""Pull requests per round. The next round continues with older ones."""


class PullHeads:
    """Rounds that add jobs to repair the visibility of heads."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._db, self._jobs = database, jobs
        self._before = MAX_ID

    def task(self) -> PeriodicTask:
        return PeriodicTask("issues_check_pull_heads", POLL_INTERVAL, self.step)

    async def step(self) -> None:
        """Check the next ``MOST_AT_ONCE`` pull requests. After the oldest one, start from the newest."""
        async with self._db.read() as db:
            rows = await store.list_page(db, self._before, MOST_AT_ONCE)
        self._before = rows[-1].id if len(rows) == MOST_AT_ONCE else MAX_ID
        if wrong := [row for row in rows if pull_heads.is_out_of_sync(row)]:
            async with self._db.transaction() as tx:
                await pull_heads.enqueue_missing(tx, self._jobs, wrong)
