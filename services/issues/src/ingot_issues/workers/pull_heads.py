"""Finds the heads that repos hides and should not, or the reverse: processes of a former release do not say whom they are for.

During an update some of them still close and reopen pull requests.
"""

from datetime import timedelta

from ingot_chassis.db.database import Database
from ingot_chassis.http.policy import MAX_ID
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_issues.core import pull_heads
from ingot_issues.store import pull_heads as store

LOOK_EVERY = timedelta(minutes=1)
MOST_AT_ONCE = 1000
"""Pull requests of one round; the next one goes on with older ones."""


class PullHeads:
    """The rounds that add the job for each such head."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._db, self._jobs = database, jobs
        self._before = MAX_ID

    def task(self) -> PeriodicTask:
        return PeriodicTask("issues_check_pull_heads", LOOK_EVERY, self.step)

    async def step(self) -> None:
        """Look at the next ``MOST_AT_ONCE`` pull requests; after the oldest it begins anew."""
        async with self._db.read() as db:
            rows = await store.list_page(db, self._before, MOST_AT_ONCE)
        self._before = rows[-1].id if len(rows) == MOST_AT_ONCE else MAX_ID
        if wrong := [row for row in rows if pull_heads.is_wrong(row)]:
            async with self._db.transaction() as tx:
                await pull_heads.add_late_jobs(tx, self._jobs, wrong)
