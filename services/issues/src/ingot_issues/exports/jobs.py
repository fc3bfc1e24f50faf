"""The job that sends the pages of an export to repos.

repos stores each page with the cursor of the next one. So a new worker continues behind the last page of a
killed job.
"""

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import TooLarge
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.exports import ExportPage
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.exports.rules import EXPORT, SendPages, read_page

PAGES_AT_ONCE = 20
"""Maximum number of pages of one run. After it, other waiting jobs run first."""


class ExportJobs:
    """The worker of export jobs."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos) -> None:
        self._db, self._jobs, self._repos = database, jobs, repos

    def handlers(self) -> dict[str, Work]:
        return {EXPORT: self.run}

    async def run(self, job: Job) -> None:
        """Send pages until the export ends."""
        request = msgspec.json.decode(job.payload, type=SendPages)
        state = await self._repos.export_state(request.repository_id, request.name)
        for _ in range(PAGES_AT_ONCE):
            if state.state == "ended":
                return
            async with self._db.read() as db:
                page = await read_page(db, request.repository_id, request.name, state.cursor)
            try:
                state = await self._repos.send_export_page(request.repository_id, page)
            except TooLarge:  # of one object, because a page ends behind a large one
                empty = ExportPage(name=page.name, cursor=page.cursor, following="", is_too_large=True)
                state = await self._repos.send_export_page(request.repository_id, empty)
        async with self._db.transaction() as tx:
            await self._jobs.finish(tx, job, again_at=now())
