"""The job that sends the pages of an export to repos, and before each page the files of its texts.

repos stores each page with the cursor of the next page. So after a job is killed, a new worker continues with
the first page that is not stored.
"""

from collections.abc import Mapping

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound, TooLarge
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_chassis.objects.store import ObjectLost
from ingot_contracts.repos.exports import ExportFile, ExportPage, LeftOutReason
from ingot_issues.attachments.rules import AttachmentEditor, object_key
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.exports.rules import EXPORT, SendPages, left_out_of, read_page
from ingot_issues.exports.store import FileRow

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
        """Send up to ``PAGES_AT_ONCE`` pages. Queue the job again unless the export has ended."""
        request = msgspec.json.decode(job.payload, type=SendPages)
        state = await self._repos.export_state(request.repository_id, request.name)
        for _ in range(PAGES_AT_ONCE):
            if state.state == "ended":
                return
            async with self._db.read() as db:
                read = await read_page(
                    db, request.repository_id, request.name, state.cursor, owner_id=state.owner_id
                )
            left_out = await self._send_files(request.repository_id, request.name, read.files)
            page = msgspec.structs.replace(read.page, left_out=left_out_of(read, left_out))
            try:
                state = await self._repos.send_export_page(request.repository_id, page)
            except TooLarge:  # of one object, because a page ends behind a large one
                empty = ExportPage(name=page.name, cursor=page.cursor, following="", is_too_large=True)
                state = await self._repos.send_export_page(request.repository_id, empty)
        async with self._db.transaction() as tx:
            await self._jobs.finish(tx, job, again_at=now())

    async def _send_files(
        self, repository_id: int, name: str, files: Mapping[str, FileRow]
    ) -> dict[str, LeftOutReason]:
        """Send the files of a page, unless the export ends. Return the reasons of files left out, by hash."""
        left_out = dict[str, LeftOutReason]()
        if self._attachments is None:
            return left_out
        for row in {row.sha256: row for row in files.values()}.values():
            if row.size > MOST_FILE_BYTES:
                left_out[row.sha256] = "too-large"
                continue
            key = object_key(repository_id, row.uuid)
            try:
                chunks = [chunk async for chunk in self._attachments.objects.read(key, range(row.size))]
            except ObjectLost:  # for example, it was deleted since
                left_out[row.sha256] = "lost"
                continue
            file = ExportFile(name=name, sha256=row.sha256, content=b"".join(chunks))
            try:
                state = await self._repos.send_export_file(repository_id, file)
            except NotFound:  # an older release of repos takes no files
                break
            if state.state == "ended":
                break
        return left_out
