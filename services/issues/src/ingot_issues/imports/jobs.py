"""Jobs that write the pages of an import, and jobs that reassign imported work to accounts.

Each page is read from repos and written in one transaction with the cursor of the next page. After a crash a
new worker continues with that page. repos stores the state of the import, and decides when it has failed.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from datetime import timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import BadRequest, Invalid, NotFound, TooLarge
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import GiveUp, Work
from ingot_contracts.repos.imports import ImportConflict, ImportFile, ReadImportFile
from ingot_issues.accounts.rules import copy_missing
from ingot_issues.attachments.rules import AttachmentEditor, Place
from ingot_issues.attachments.store import existing_uuids
from ingot_issues.clients.identity import HttpIdentity
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.imports.rules import placeholders as placeholder_rules
from ingot_issues.imports.rules.issues import Refused
from ingot_issues.imports.rules.pages import (
    IMPORT,
    ReadPages,
    account_ids,
    reader_ids,
    without_outsiders,
    write_page,
)
from ingot_issues.imports.rules.placeholders import (
    REASSIGN,
    ReassignPeople,
    give_placeholders,
    next_placeholders,
    next_texts,
    person_key,
)
from ingot_issues.imports.store import objects as store
from ingot_issues.imports.store import placeholders
from ingot_issues.imports.store.objects import FileRow
from ingot_issues.repositories.store import counters

MOST_FILE_BYTES = 32 * 1024 * 1024
"""Limit of a file of a text, like that of a page: both are read into memory."""
MOST_FILES_BYTES = 4 * 1024 * 1024 * 1024
"""Limit of all files of texts of an import. Files above it stay at the source."""
PAGES_AT_ONCE = 20
"""Maximum number of pages of one run. After it, other waiting jobs run first."""


class ImportJobs:
    """The worker of import jobs."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        repos: HttpRepos,
        identity: HttpIdentity,
        attachments: AttachmentEditor | None,
    ) -> None:
        self._db, self._jobs, self._repos, self._identity = database, jobs, repos, identity
        self._attachments = attachments

    def handlers(self) -> dict[str, Work]:
        return {IMPORT: self.run, REASSIGN: self.reassign}

    async def run(self, job: Job) -> None:
        """Read and write pages until the import ends or the source needs a pause, at most ``PAGES_AT_ONCE``.

        The job is requeued unless the import has ended. Raises GiveUp if a page cannot be written.
        """
        repository_id = msgspec.json.decode(job.payload, type=ReadPages).repository_id
        async with self._db.read() as db:
            at = await store.get_cursor(db, repository_id)
        cursor, conflicts = at.cursor, msgspec.json.decode(at.conflicts, type=list[ImportConflict])
        pause, readers = 0.0, dict[int, bool]()
        for _ in range(PAGES_AT_ONCE):
            refusal = await self._fetch_files(repository_id)
            if refusal is not None and refusal.state == "ended":
                return
            if refusal is not None:
                pause = refusal.seconds
                break
            page = await self._repos.import_page(repository_id, cursor, repeat=at.repeat, conflicts=conflicts)
            if page.state == "ended":
                return
            if page.state == "wait":
                pause = page.seconds
                break
            await copy_missing(self._db, self._identity, account_ids(page))
            page = without_outsiders(page, await self._outsiders(repository_id, reader_ids(page), readers))
            try:
                async with self._db.transaction() as tx:
                    conflicts = await write_page(tx, self._jobs, repository_id, page, repeat=at.repeat)
            except Refused as error:
                await self._repos.import_page(repository_id, cursor, is_refused=True, repeat=at.repeat)
                raise GiveUp(str(error)) from None
            cursor = page.cursor
        async with self._db.transaction() as tx:
            await self._jobs.finish(tx, job, again_at=now() + timedelta(seconds=pause))

    async def reassign(self, job: Job) -> None:
        """Move the work of people at the source from the ghost to their accounts, table by table.

        Rows are read without a lock, and are changed only while the ghost still has them. A row that another
        job has moved since stays as it is. After a crash a new worker skips the rows that have been moved.
        """
        request = msgspec.json.decode(job.payload, type=ReassignPeople)
        repository_id = request.repository_id
        accounts = {person_key(name): account_id for name, account_id in request.accounts.items()}
        await copy_missing(self._db, self._identity, set(accounts.values()))
        for table in placeholders.AUTHORED:
            await self._reassign_texts(table, repository_id, accounts)
        readers, after = dict[int, bool](), ("", 0)
        while True:
            async with self._db.read() as db:
                rows, end = await next_placeholders(db, repository_id, accounts, after)
            waiting = {accounts[row.person] for row in rows if row.role in placeholders.READERS}
            allowed = waiting - await self._outsiders(repository_id, waiting, readers)
            async with self._db.transaction() as tx:
                if await counters.lock(tx, repository_id):
                    await give_placeholders(tx, rows, accounts, allowed)
            if end is None:
                return
            after = end

    async def _reassign_texts(self, table: str, repository_id: int, accounts: Mapping[str, int]) -> None:
        """Make accounts the authors of those rows of a table that the ghost has for them."""
        after: int | None = 0
        while after is not None:
            async with self._db.read() as db:
                theirs, after = await next_texts(db, table, repository_id, accounts, after)
            ids = [*theirs]
            for start in range(0, len(ids), placeholder_rules.BATCH):
                batch = {row_id: theirs[row_id] for row_id in ids[start : start + placeholder_rules.BATCH]}
                async with self._db.transaction() as tx:
                    if await counters.lock(tx, repository_id):
                        await placeholders.change_authors(tx, table, batch)

    async def _fetch_files(self, repository_id: int) -> ImportFile | None:
        """Fetch the files of written texts, one by one. Return None at the end.

        Return the answer of repos if the source needs a pause or the import has ended. A file leaves the list
        when it is stored, so a new worker continues with the next file.
        """
        async with self._db.read() as db:
            room = MOST_FILES_BYTES - await store.stored_bytes(db, repository_id)
        while True:
            async with self._db.read() as db:
                file = await store.next_file(db, repository_id)
                is_here = file is not None and bool(await existing_uuids(db, [file.uuid]))
            if file is None:
                return None
            if not is_here and self._attachments is not None and room > 0:
                limit = min(self._attachments.limits.max_bytes, MOST_FILE_BYTES, room)
                request = ReadImportFile(address=file.address, max_bytes=limit)
                answer = await self._repos.import_file(repository_id, request)
                if answer.state in ("wait", "ended"):
                    return answer
                is_here = answer.state == "file" and await _store(self._attachments, file, answer.content)
                room -= len(answer.content) if is_here else 0
            async with self._db.transaction() as tx:
                await store.remove_file(tx, file, is_here=is_here)

    async def _outsiders(
        self, repository_id: int, account_ids: Collection[int], readers: dict[int, bool]
    ) -> set[int]:
        """Return the accounts that cannot read the repository. ``readers`` caches answers of repos."""
        for account_id in account_ids:
            if account_id not in readers:
                readers[account_id] = await self._may_read(repository_id, account_id)
        return {account_id for account_id in account_ids if not readers[account_id]}

    async def _may_read(self, repository_id: int, account_id: int) -> bool:
        try:
            access = await self._repos.access_of_user_by_id(account_id, repository_id)
        except NotFound:
            return False
        return access.level != "none"


async def _store(editor: AttachmentEditor, file: FileRow, content: bytes) -> bool:
    """Store a file like an upload. Return False if uploads reject it, or its text has been deleted."""
    place = Place(file.repository_id, file.issue_id, file.comment_id)
    try:
        await editor.upload(
            place,
            file.uploader_id,
            file.name,
            _chunks(content),
            len(content),
            file_uuid=file.uuid,
            created_at=file.created_at,
        )
    except (Invalid, TooLarge, NotFound, BadRequest):
        return False
    return True


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content
