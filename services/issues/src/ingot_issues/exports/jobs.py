"""The job that sends the pages of an export to repos, and before each page the files of its texts.

repos stores each page with the cursor of the next one. So a new worker continues behind the last page of a
killed job.
"""

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound, TooLarge
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_chassis.objects.store import ObjectLost
from ingot_contracts.repos.exports import ExportFile, ExportPage
from ingot_issues.attachments.rules import AttachmentEditor, object_key
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.exports import store
from ingot_issues.exports.rules import EXPORT, SendPages, read_page, uuids_of_files

MOST_FILE_BYTES = 32 * 1024 * 1024
"""Limit of a file: it is read into memory. An import has the same limit."""
PAGES_AT_ONCE = 20
"""Maximum number of pages of one run. After it, other waiting jobs run first."""


class ExportJobs:
    """The worker of export jobs."""

    def __init__(
        self, database: Database, jobs: Jobs, repos: HttpRepos, attachments: AttachmentEditor | None
    ) -> None:
        self._db, self._jobs, self._repos, self._attachments = database, jobs, repos, attachments

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
            await self._send_files(request.repository_id, page)
            try:
                state = await self._repos.send_export_page(request.repository_id, page)
            except TooLarge:  # of one object, because a page ends behind a large one
                empty = ExportPage(name=page.name, cursor=page.cursor, following="", is_too_large=True)
                state = await self._repos.send_export_page(request.repository_id, empty)
        async with self._db.transaction() as tx:
            await self._jobs.finish(tx, job, again_at=now())

    async def _send_files(self, repository_id: int, page: ExportPage) -> None:
        """Send the files of a page, until the export ends. Files that are gone or too large stay behind."""
        uuids = uuids_of_files(page)
        if not uuids or self._attachments is None:
            return
        async with self._db.read() as db:
            rows = {row.sha256: row for row in await store.files_by_uuid(db, uuids)}
        for row in rows.values():
            if row.size > MOST_FILE_BYTES:
                continue
            key = object_key(repository_id, row.uuid)
            try:
                chunks = [chunk async for chunk in self._attachments.objects.read(key, range(row.size))]
            except ObjectLost:  # it was deleted since
                continue
            file = ExportFile(name=page.name, sha256=row.sha256, content=b"".join(chunks))
            try:
                state = await self._repos.send_export_file(repository_id, file)
            except NotFound:  # an older release of repos takes no files
                return
            if state.state == "ended":
                return
