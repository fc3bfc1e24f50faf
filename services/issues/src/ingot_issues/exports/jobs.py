"""The job that sends the pages of an export to repos, and before each page the files of its texts.

repos stores each page with the cursor of the next page. So after a job is killed, a new worker continues with
the first page that is not stored.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound, TooLarge
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_chassis.objects.store import ObjectLost, ObjectStore
from ingot_contracts.repos.exports import ExportedLabels, ExportFile, ExportPage, LeftOutReason
from ingot_issues.attachments.rules import AttachmentEditor, object_key
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.exports.rules import (
    EXPORT,
    EXPORT_LABELS,
    MOST_LABELS,
    SendLabels,
    SendPages,
    label_of,
    left_out_of,
    read_page,
)
from ingot_issues.exports.store import FileRow
from ingot_issues.labels.store.organization import list_first

MOST_FILE_BYTES = 32 * 1024 * 1024
"""Limit of a file: it is read into memory. An import has the same limit."""
PAGES_AT_ONCE = 20
"""Maximum number of pages of one run. After it, other waiting jobs run first."""


class ExportJobs:
    """The worker of export jobs."""

    def __init__(
        self, database: Database, jobs: Jobs, repos: HttpRepos, attachments: AttachmentEditor | None
    ) -> None:
        self._db, self._jobs, self._repos = database, jobs, repos
        self._objects = attachments.objects if attachments is not None else None

    def handlers(self) -> dict[str, Work]:
        return {EXPORT: self.run, EXPORT_LABELS: self.send_labels}

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

    async def send_labels(self, job: Job) -> None:
        """Send the labels of an organization. A repeated request stores the same labels again."""
        request = msgspec.json.decode(job.payload, type=SendLabels)
        async with self._db.read() as db:
            rows = await list_first(db, request.organization_id, MOST_LABELS + 1)
        is_too_large = len(rows) > MOST_LABELS
        await self._repos.send_organization_labels(
            ExportedLabels(
                name=request.name,
                labels=[] if is_too_large else [label_of(row) for row in rows],
                is_too_large=is_too_large,
            )
        )

    async def _send_files(
        self, repository_id: int, name: str, files: Mapping[str, FileRow]
    ) -> dict[str, LeftOutReason]:
        """Send the files of a page, unless the export ends. Return the reasons of files left out, by hash."""
        left_out = dict[str, LeftOutReason]()
        if self._objects is None:
            return left_out
        same_files = defaultdict[str, list[FileRow]](list)
        for row in files.values():
            same_files[row.sha256].append(row)
        for sha256, rows in same_files.items():
            if rows[0].size > MOST_FILE_BYTES:
                left_out[sha256] = "too-large"
                continue
            content = await self._content(self._objects, repository_id, rows)
            if content is None:
                left_out[sha256] = "lost"
                continue
            try:
                state = await self._repos.send_export_file(
                    repository_id, ExportFile(name=name, sha256=sha256, content=content)
                )
            except NotFound:  # an older release of repos takes no files
                break
            if state.state == "ended":
                break
        return left_out

    async def _content(
        self, objects: ObjectStore, repository_id: int, rows: Sequence[FileRow]
    ) -> bytes | None:
        """Return the content of the first stored file of ``rows`` with one hash. None if all are lost."""
        for row in rows:
            key = object_key(repository_id, row.uuid)
            with suppress(ObjectLost):  # for example, it was deleted since
                return b"".join([chunk async for chunk in objects.read(key, range(row.size))])
        return None
