"""The non-git data of an import in pages, which issues requests one after another.

repos keeps the state, the progress and the error of the import. The cursor names the next page. issues stores
the cursor with the rows of the previous page.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import BadRequest
from ingot_chassis.security.sealing import Unreadable
from ingot_contracts.identity.accounts import GHOST
from ingot_contracts.repos.imports import (
    GHOST_ID,
    ImportedPerson,
    ImportedPull,
    ImportFile,
    ImportPage,
    ReadImportFile,
    ReadImportPage,
)
from ingot_git.history.reachability import merge_base
from ingot_git.process.errors import ObjectNotFound
from ingot_git.remote.remote import Reason
from ingot_git.storage.storage import Storage
from ingot_remotes.interface.source import (
    KINDS,
    TRANSIENT,
    Kind,
    PersonKey,
    Source,
    SourceBusy,
    SourceFailed,
    SourcePage,
)
from ingot_remotes.texts.references import References
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store.states import ImportState, RepositoryState
from ingot_repos.imports import store
from ingot_repos.imports.rules.files import TextFiles, without_files
from ingot_repos.imports.rules.lifecycle import OF_ISSUES, PERMANENT, announce_end, end
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import accounts_of, logins_of, rule_of
from ingot_repos.imports.store import Counts, SourceRow
from ingot_repos.presentation.rules.announcements import announce_edit
from ingot_repos.presentation.rules.presenter import Presenter, as_user
from ingot_repos.remotes import store as imports
from ingot_repos.remotes.store import RemoteRow

MOST_PAGES = 20_000
"""Limit of pages of one kind."""
MOST_FAILURES = 10
"""Failed requests in a row after which an import fails: after about 15 minutes."""
MOST_FILE_FAILURES = 3
"""Failed requests for one file after which it stays at the source. The import goes on."""
PAGE_SECONDS = 50.0
"""Limit of the time for a page. issues waits a little longer."""
LONGEST_PLACE = 1_000
"""Limit of characters of the place of a page."""
LONGEST_PAUSE = 300.0
"""Seconds between two requests to a source that fails."""

ENDED = ImportPage(state="ended")


MOST_COUNTED_FILES = 1_000
"""Files whose failed requests are counted, of all imports: issues asks for one file of each at a time."""


class Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The position of a page. ``kind`` is an index in the list of imported kinds.

    ``number`` counts the pages of a kind from 1. ``place`` is the position as the source names it. ``first``
    is the id of the first object of the previous page. ``done`` counts the objects of the kind on earlier
    pages. ``last_done`` counts the objects of the previous kind; only on the first page.
    """

    kind: Annotated[int, msgspec.Meta(ge=0)] = 0
    number: Annotated[int, msgspec.Meta(ge=1, le=MOST_PAGES)] = 1
    done: Annotated[int, msgspec.Meta(ge=0)] = 0
    first: int = 0
    place: Annotated[str, msgspec.Meta(max_length=LONGEST_PLACE)] = ""
    last_done: Annotated[int, msgspec.Meta(ge=0)] = 0

    def page_place(self) -> str:
        """Return the position as the source names it. Cursors of earlier releases had only ``number``."""
        return self.place or (str(self.number) if self.number > 1 else "")


class SourcePages:
    """A reader of pages from the sources of imports."""

    def __init__(
        self, database: Database, presenter: Presenter, opener: SourceOpener, storage: Storage
    ) -> None:
        self._db, self._presenter, self._opener = database, presenter, opener
        self._storage = storage
        self._file_failures = dict[tuple[int, str], int]()

    async def read(self, repository_id: int, request: ReadImportPage) -> ImportPage:
        """Return the page at the cursor, with local accounts. Raises BadRequest if the cursor is not valid.

        The state of the page is ``ended`` if the import is not running. It is also ``ended`` if the cursor
        belongs to another run. After the last page the import is completed.
        """
        cursor = _cursor(request.cursor)
        async with self._db.read() as db:
            row = await imports.get(db, repository_id)
            source = await store.get(db, repository_id)
            remote = await imports.get_remote(db, repository_id)
        if row is None or row.state != ImportState.RUNNING or source is None or remote is None:
            return ENDED
        if request.repeat != row.repeat:  # its cursor is that of another run
            return ENDED
        if not source.fetched:  # a restart is fetching the commits
            return ENDED
        if request.conflicts:
            async with self._db.transaction() as tx:
                await store.add_conflicts(tx, repository_id, request.conflicts)
        if request.is_refused:
            return await self._fail(repository_id, "refused")
        kinds = [kind for kind in KINDS if kind in store.kinds_of(source)]
        if 0 < cursor.kind <= len(kinds) and cursor.last_done:
            source = await self._finish_kind(source, kinds[cursor.kind - 1], cursor.last_done)
        if cursor.kind >= len(kinds):
            page = await self._complete(repository_id, remote.user_id, is_repeat=row.repeat > 0)
            if source.archive is not None:
                await asyncio.to_thread(self._storage.discard_archive, source.archive)
            return page
        page = await self._read(source, remote, kinds, cursor)
        return page if request.with_files else without_files(page)

    async def read_file(self, repository_id: int, request: ReadImportFile) -> ImportFile:
        """Fetch a file of a text from the source.

        The state of the result is ``file``, ``wait`` (request it again later), ``absent`` or ``ended``.
        """
        async with self._db.read() as db:
            row = await imports.get(db, repository_id)
            source = await store.get(db, repository_id)
            remote = await imports.get_remote(db, repository_id)
        if row is None or row.state != ImportState.RUNNING or source is None or remote is None:
            return ImportFile(state="ended")
        try:
            async with self._opener.open(source, remote) as there:
                content = await _read_file(there, request)
        except SourceBusy as busy:
            pause = await self._pause(source, busy.seconds, "busy", failures=source.failures)
            return ImportFile(state="wait", seconds=pause.seconds)
        except SourceFailed as error:
            if error.fault not in TRANSIENT:
                return ImportFile(state="absent")
            return await self._fail_file(source, request.address, error.fault)
        except Unreadable:
            await self._fail(repository_id, "secrets")
            return ImportFile(state="ended")
        self._file_failures.pop((repository_id, request.address), None)
        return ImportFile(state="file", content=content)

    async def _fail_file(self, source: SourceRow, address: str, reason: Reason) -> ImportFile:
        """Return a pause before the next request for a file.

        After ``MOST_FILE_FAILURES`` failures the file is reported as absent. Only requests for this file
        count. A new process starts to count again.
        """
        key = (source.repository_id, address)
        failures = self._file_failures.pop(key, 0) + 1
        if failures >= MOST_FILE_FAILURES:
            return ImportFile(state="absent")
        while len(self._file_failures) >= MOST_COUNTED_FILES:
            del self._file_failures[next(iter(self._file_failures))]
        self._file_failures[key] = failures
        pause = await self._pause(source, 2.0**failures, reason, failures=source.failures)
        return ImportFile(state="wait", seconds=pause.seconds)

    async def _finish_kind(self, source: SourceRow, kind: Kind, done: int) -> SourceRow:
        """Record that all pages of a kind are written, and return the row."""
        counts = store.counts_of(source)
        counts[kind] = Counts(done, counts[kind].total) if kind in counts else Counts(done)
        async with self._db.transaction() as tx:
            await store.save_counts(tx, source.repository_id, counts)
            return await store.get(tx, source.repository_id) or source

    async def _read(
        self, source: SourceRow, remote: RemoteRow, kinds: Sequence[Kind], cursor: Cursor
    ) -> ImportPage:
        """Return a page of the source, or a pause. If the source fails permanently, the import fails."""
        kind = kinds[cursor.kind]
        try:
            async with asyncio.timeout(PAGE_SECONDS), self._opener.open(source, remote) as there:
                counts = store.counts_of(source)
                if kind not in counts:
                    counts |= await _count(there, kinds)
                page = await there.page(kind, cursor.page_place())
            following = _next_cursor(cursor, page)
            pulls = [await self._with_merge_base(source.repository_id, one) for one in page.pulls]
            page = msgspec.structs.replace(page, pulls=pulls)
        except SourceBusy as busy:
            return await self._pause(source, busy.seconds, "busy", failures=source.failures)
        except SourceFailed as error:
            if error.fault in TRANSIENT:
                return await self._fail_later(source, error.fault)
            return await self._fail(source.repository_id, error.fault)
        except TimeoutError:
            return await self._fail_later(source, "unreachable")
        except Unreadable:
            return await self._fail(source.repository_id, "secrets")
        counts[kind] = Counts(cursor.done, counts[kind].total if page.total is None else page.total)
        async with self._db.transaction() as tx:
            await store.save_counts(tx, source.repository_id, counts)
            await imports.change(tx, source.repository_id, (ImportState.RUNNING,), phase=kind, percent=0)
        return await self._answer(source, remote, page, msgspec.json.encode(following).decode())

    async def _answer(
        self, source: SourceRow, remote: RemoteRow, page: SourcePage, cursor: str
    ) -> ImportPage:
        """Return a page for issues, with local accounts and references."""
        async with self._db.read() as db:
            row = await repositories.get_unfiltered(db, source.repository_id)
            rule = rule_of(source, importer_id=remote.user_id)
            people = await accounts_of(db, page.addresses, rule)
            logins = await logins_of(db, people)
        if row is None:
            return ENDED
        local_url = f"{self._presenter.root}{row.owner_login}/{row.name}"
        address = self._opener.address(source, remote)
        references = References(address, local_url, source.pull_offset or 0, logins)
        files = TextFiles(source.repository_id, local_url, self._opener.file_links(source, remote))
        return ImportPage(
            state="page",
            cursor=cursor,
            labels=page.labels,
            milestones=references.rewrite_all(page.milestones),
            issues=references.rewrite_all(files.localize_all(_with_accounts(page.issues, people))),
            pulls=references.rewrite_all(files.localize_all(_with_accounts(page.pulls, people))),
            comments=references.rewrite_all(files.localize_all(_with_accounts(page.comments, people))),
            times=_with_accounts(page.times, people),
            dependencies=page.dependencies,
        )

    async def _with_merge_base(self, repository_id: int, pull: ImportedPull) -> ImportedPull:
        """Return a pull request with its merge base, which some sources do not return.

        If git has no merge base, or lacks the commits, the result has the base commit of the source instead.
        """
        if pull.merge_base:
            return pull
        try:
            ancestor = await self._storage.call(repository_id, merge_base, pull.base_sha, pull.head_sha)
        except ObjectNotFound:
            ancestor = None
        return msgspec.structs.replace(pull, merge_base=ancestor or pull.base_sha)

    async def _fail_later(self, source: SourceRow, reason: Reason) -> ImportPage:
        """Return a pause before the next request. After ``MOST_FAILURES`` failures, fail the import."""
        if source.failures >= MOST_FAILURES:
            return await self._fail(source.repository_id, reason)
        pause = min(2.0**source.failures, LONGEST_PAUSE)
        return await self._pause(source, pause, reason, failures=source.failures + 1)

    async def _pause(self, source: SourceRow, seconds: float, reason: Reason, *, failures: int) -> ImportPage:
        async with self._db.transaction() as tx:
            await store.pause(tx, source.repository_id, seconds, reason, failures=failures)
        return ImportPage(state="wait", seconds=seconds)

    async def _fail(self, repository_id: int, reason: Reason) -> ImportPage:
        """Fail the import. The repository keeps its git data, and the import can be restarted."""
        async with self._db.transaction() as tx:
            if await end(tx, repository_id, (ImportState.RUNNING,), ImportState.FAILED, reason):
                await announce_end(tx, self._presenter, repository_id, reason)
            await store.change(tx, repository_id, failures=0)
            source = await store.get(tx, repository_id)
        if source is not None and source.archive is not None and reason in PERMANENT:
            await asyncio.to_thread(self._storage.discard_archive, source.archive)
        return ENDED

    async def _complete(self, repository_id: int, user_id: int, *, is_repeat: bool) -> ImportPage:
        """End the import and erase its credentials.

        Unless this is a repeat, switch on issues and pull requests.
        """
        async with self._db.transaction() as tx:
            before = await repositories.get_unfiltered(tx, repository_id)
            is_ended = before is not None and await imports.change(
                tx,
                repository_id,
                (ImportState.RUNNING,),
                state=ImportState.DONE,
                phase="done",
                percent=100,
                reason="",
                finished_at=now(),
            )
            if before is not None and is_ended and before.state == RepositoryState.READY:
                await imports.change_remote(tx, repository_id, sealed=None)
                await store.change(tx, repository_id, people="{}")
                if not is_repeat:
                    await repositories.change(tx, repository_id, **OF_ISSUES)
                    user = await accounts.get(tx, user_id)
                    await announce_edit(tx, self._presenter, before, as_user(user) if user else GHOST)
                await announce_end(tx, self._presenter, repository_id)
        return ENDED


async def _read_file(there: Source, request: ReadImportFile) -> bytes:
    """Return the bytes of a file. Raises SourceBusy, and SourceFailed, also above ``request.max_bytes``."""
    content = bytearray()
    try:
        async with asyncio.timeout(PAGE_SECONDS), there.file(request.address) as (chunks, length):
            if length is not None and length > request.max_bytes:
                raise SourceFailed("too-large")
            async for chunk in chunks:
                content += chunk
                if len(content) > request.max_bytes:
                    raise SourceFailed("too-large")
    except TimeoutError:
        raise SourceFailed("unreachable") from None
    return bytes(content)


def _cursor(text: str) -> Cursor:
    try:
        return msgspec.json.decode(text, type=Cursor) if text else Cursor()
    except msgspec.MsgspecError:
        raise BadRequest("the cursor is invalid") from None


async def _count(source: Source, kinds: Sequence[Kind]) -> dict[str, Counts]:
    """Return the number of objects at the source by kind, or None if the source does not return it.

    Raises SourceFailed, SourceBusy.
    """
    return {kind: Counts(0, await source.count(kind)) for kind in kinds}


def _next_cursor(cursor: Cursor, page: SourcePage) -> Cursor:
    """Return the cursor after a page.

    Raises SourceFailed if the source repeats a page, or has too many pages or too long a cursor.
    """
    done = cursor.done + page.size
    if page.size and page.first == cursor.first:
        raise SourceFailed("forge-answer")  # the source ignores the place of the page
    if not page.following:
        return Cursor(kind=cursor.kind + 1, last_done=done)
    if len(page.following) > LONGEST_PLACE:
        raise SourceFailed("forge-answer")
    if cursor.number >= MOST_PAGES:
        raise SourceFailed("too-large")
    return Cursor(cursor.kind, cursor.number + 1, done, page.first, page.following)


def _with_accounts(value: Any, people: Mapping[PersonKey, int]) -> Any:
    """Return a copy of a struct or a list in which every person has an account, or is the ghost."""
    if isinstance(value, ImportedPerson):
        account_id = people.get((value.source_id, value.name), GHOST_ID)
        return msgspec.structs.replace(value, account_id=account_id)
    if isinstance(value, list):
        return [_with_accounts(one, people) for one in value]
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        nested = {name: one for name, one in fields.items() if isinstance(one, list | msgspec.Struct)}
        changed = {name: _with_accounts(one, people) for name, one in nested.items()}
        return msgspec.structs.replace(value, **changed)
    return value
