"""Exports: their start, the pages that issues sends, and their end.

Pages are files in the folder of the export until the archive is written.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.files import FREE, FreeObjects
from ingot_contracts.repos.events import ExportRequested
from ingot_contracts.repos.exports import ExportFile, ExportPage, ExportState
from ingot_contracts.repos.imports import ImportedPerson
from ingot_git.process.disk import disk_errors
from ingot_git.remote.remote import Reason
from ingot_git.storage.storage import Storage
from ingot_remotes.archives.layout import (
    MOST_PAGE_BYTES,
    ArchivedPerson,
    addresses_in,
    encode_lines,
    people_in,
    with_files_at,
)
from ingot_remotes.interface.source import KINDS, Kind
from ingot_repos.archives import store
from ingot_repos.archives.store import ExportRow, Layout, PageCount
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.imports.rules.lifecycle import discard_archive
from ingot_repos.placement.rules.job_kinds import job_kind

log = structlog.get_logger()

EXPORT = "export"
"""The kind of the job that writes an archive."""
LIFETIME_DAYS = 7
LONGEST = timedelta(days=1)
"""The longest time of an export. After it, the export has failed."""
OBJECTS = "exports"
"""The prefix of the storage keys of all archives."""
ENDED = ExportState(state="ended")


FILE = "attached-"
"""The beginning of the names of files of texts, which end with their hashes."""
TOTAL = "size-of-files"
"""The name of the file with the size of all files of texts."""
MOST_LEFT_OUT = 1_000
"""Limit of files that the report of an export names. The log names all."""


class WriteArchive(msgspec.Struct, frozen=True):
    """A job that writes an archive. The payload is empty, because the key of the job names the export."""


def object_key(row: ExportRow) -> str:
    """Return the storage key of an archive."""
    return key_of(row.repository_id, row.uuid)


def key_of(repository_id: int, name: str) -> str:
    """Return the storage key of the archive that the export called ``name`` has written."""
    return f"{OBJECTS}/{repository_id}/{name}"


def page_file(kind: Kind, number: int) -> str:
    """Return the name of the file with a page."""
    return f"{kind}-{number:05}.jsonl"


def people_file(kind: Kind, number: int) -> str:
    """Return the name of the file with the people of a page."""
    return f"people-{page_file(kind, number)}"


async def begin(tx: Tx, jobs: Jobs, repository_id: int, shard: str, layout: Layout) -> str:
    """Begin an export, and return its name. It replaces an earlier one. Raises Conflict while one runs."""
    earlier = await store.get(tx, repository_id)
    if earlier is not None:
        if earlier.state == ImportState.RUNNING:
            raise Conflict("an export is running; cancel it first")
        await remove(tx, jobs, earlier, shard)
    name = str(uuid.uuid4())
    if not await store.add(tx, repository_id, name, layout):
        raise Conflict("an export is running; cancel it first")
    tx.emit(ExportRequested(repository_id=repository_id, name=name), key=repository_id)
    return name


async def remove(tx: Tx, jobs: Jobs, row: ExportRow, shard: str) -> None:
    """Delete an export, which may be running. Jobs delete its archive and its folder.

    Do nothing if the export does not exist: an export of the organization may have its archive.
    """
    if not await store.remove(tx, row.uuid):
        return
    await discard_archive(tx, jobs, row.uuid, shard)
    await jobs.add(tx, job_kind(FREE, shard), object_key(row), FreeObjects([object_key(row)]))


async def fail(tx: Tx, jobs: Jobs, row: ExportRow, shard: str, reason: Reason) -> None:
    """Fail a running export whose archive is not written yet. A job deletes its folder."""
    if await store.change(tx, row.uuid, state=ImportState.FAILED, reason=reason, **expiry()):
        await discard_archive(tx, jobs, row.uuid, shard)


class ExportPages:
    """Stores the pages of exports of this shard, and the files of their texts.

    All files of texts of one export have at most ``max_bytes`` together.
    """

    def __init__(self, database: Database, jobs: Jobs, storage: Storage, *, max_bytes: int) -> None:
        self._db, self._jobs, self._storage, self._max_bytes = database, jobs, storage, max_bytes

    async def state(self, repository_id: int, name: str) -> ExportState:
        """Return the state of an export for issues."""
        async with self._db.read() as db:
            row = await store.get(db, repository_id)
            repository = await repositories.get_unfiltered(db, repository_id)
        return _state(row, repository, name)

    async def add(self, repository_id: int, page: ExportPage) -> ExportState:
        """Store a page and the cursor after it, and return the new state.

        A page that is not the next one changes nothing. A page that is too large fails the export.
        """
        async with self._db.read() as db:
            row = await store.get(db, repository_id)
            repository = await repositories.get_unfiltered(db, repository_id)
        state = _state(row, repository, page.name)
        if row is None or repository is None or state.state == "ended" or state.cursor != page.cursor:
            return state
        counts = store.counts_of(row)
        kind, objects = _objects_of(page)
        is_written = not page.is_too_large
        if kind is not None:
            number = counts.get(kind, PageCount()).pages + 1
            people = await self._accounts_of(objects)
            is_written = await asyncio.to_thread(self._write, row, kind, number, objects, people)
            counts[kind] = PageCount(number, counts.get(kind, PageCount()).objects + len(objects))
        if not is_written:
            async with self._db.transaction() as tx:
                await fail(tx, self._jobs, row, repository.shard, "too-large")
            return ENDED
        values = {"counts": msgspec.json.encode(counts).decode()}
        if page.left_out:
            files = [*store.left_out_files_of(row), *page.left_out][:MOST_LEFT_OUT]
            values["left_out_files"] = msgspec.json.encode(files).decode()
            names = [f"#{one.number} {one.name}: {one.reason}" for one in page.left_out]
            log.warning("files left out of an export", repository=repository_id, files=names)
        async with self._db.transaction() as tx:
            moved = await store.move_cursor(tx, row.uuid, page.cursor, page.following or LAST, **values)
            if moved and not page.following:
                await self._jobs.add(tx, job_kind(EXPORT, repository.shard), row.uuid, WriteArchive())
            is_running = moved or await store.get_running(tx, row.uuid) is not None
        if not is_running:  # it was deleted while the page was written
            await asyncio.to_thread(self._storage.discard_archive, row.uuid)
        return await self.state(repository_id, page.name)

    async def add_file(self, repository_id: int, file: ExportFile) -> ExportState:
        """Store a file of a text on the next page, and return the new state.

        The export fails if its files of texts have more than ``max_bytes``.
        """
        async with self._db.read() as db:
            row = await store.get(db, repository_id)
            repository = await repositories.get_unfiltered(db, repository_id)
        state = _state(row, repository, file.name)
        if row is None or repository is None or state.state == "ended":
            return ENDED
        if not await asyncio.to_thread(self._write_file, row, file):
            async with self._db.transaction() as tx:
                await fail(tx, self._jobs, row, repository.shard, "too-large")
        state = await self.state(repository_id, file.name)
        if state.state == "ended":  # it was deleted while the file was written
            await asyncio.to_thread(self._storage.discard_archive, row.uuid)
        return state

    def _write_file(self, row: ExportRow, file: ExportFile) -> bool:
        """Write a file of texts, unless it exists or its hash is wrong. Blocks.

        Return False if all files of texts would have more than ``max_bytes``.
        """
        folder = self._storage.archive_folder(row.uuid)
        path = folder / f"{FILE}{file.sha256}"
        if hashlib.sha256(file.content).hexdigest() != file.sha256 or path.exists():
            return True
        size = _size_of_files(folder) + len(file.content)
        if size > self._max_bytes:
            return False
        with disk_errors():
            _replace(path, file.content)
            _replace(folder / TOTAL, str(size).encode())
        return True

    async def _accounts_of(self, objects: list[Any]) -> dict[int, AccountRow]:
        async with self._db.read() as db:
            rows = await accounts.list_by_ids(db, {one.account_id for one in people_in(objects)})
        return {row.id: row for row in rows}

    def _write(
        self, row: ExportRow, kind: Kind, number: int, objects: list[Any], people: Mapping[int, AccountRow]
    ) -> bool:
        """Write a page, and the people on it. Blocks.

        Return False if the page is larger than an import accepts.
        """
        folder = self._storage.archive_folder(row.uuid)
        paths = {one for one in addresses_in(objects) if _text_file(folder, one).exists()}
        text = encode_lines([with_files_at(paths, one) for one in with_names(objects, people)])
        if len(text) > MOST_PAGE_BYTES:
            return False
        (folder / page_file(kind, number)).write_bytes(text)
        lines = [ArchivedPerson(source_id=one.id, name=one.login, email=one.email) for one in people.values()]
        (folder / people_file(kind, number)).write_bytes(encode_lines(lines))
        return True


def _text_file(folder: Path, address: str) -> Path:
    """Return the path of a file of texts in the folder of an export."""
    return folder / f"{FILE}{address.rpartition('/')[2]}"


def _size_of_files(folder: Path) -> int:
    """Return the size of all files of texts in bytes. Blocks.

    The size is stored in a file, because an export may have many files. A process that is killed may leave
    the last file uncounted. The writer of the archive checks the limit again.
    """
    try:
        return int((folder / TOTAL).read_bytes())
    except (FileNotFoundError, ValueError):
        return sum(one.stat().st_size for one in files_in(folder))


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically. Blocks."""
    unfinished = path.with_name(f"unfinished-{uuid.uuid4()}")
    unfinished.write_bytes(content)
    unfinished.rename(path)


def files_in(folder: Path) -> list[Path]:
    """Return the files of texts in the folder of an export. Blocks."""
    return sorted(folder.glob(f"{FILE}*"))


LAST = "-"
"""The cursor behind the last page."""


def _state(row: ExportRow | None, repository: RepositoryRow | None, name: str) -> ExportState:
    is_ended = row is None or row.uuid != name or row.state != ImportState.RUNNING or row.cursor == LAST
    if row is None or repository is None or is_ended:
        return ENDED
    return ExportState(state="running", cursor=row.cursor, owner_id=repository.owner_id)


def _objects_of(page: ExportPage) -> tuple[Kind | None, list[Any]]:
    return next(((kind, getattr(page, kind)) for kind in KINDS if getattr(page, kind)), (None, []))


def with_names(value: Any, people: Mapping[int, AccountRow]) -> Any:
    """Return a copy in which people with an account in ``people`` have its login and id."""
    if isinstance(value, ImportedPerson):
        row = people.get(value.account_id)
        return value if row is None else ImportedPerson(name=row.login, source_id=row.id)
    if isinstance(value, list):
        return [with_names(one, people) for one in value]
    if isinstance(value, msgspec.Struct):
        fields = {name: with_names(getattr(value, name), people) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


async def expire(database: Database, jobs: Jobs, shard: str) -> None:
    """Delete the exports of a shard that have expired, and fail those that run longer than ``LONGEST``."""
    async with database.transaction() as tx:
        for row in await store.list_stale(tx, shard, now() - LONGEST):
            await fail(tx, jobs, row, shard, "failed")
        for row in await store.list_expired(tx, shard, now()):
            await remove(tx, jobs, row, shard)


async def require(db: Any, repository_id: int) -> ExportRow:
    """Return the export of a repository. Raises NotFound."""
    row = await store.get(db, repository_id)
    if row is None:
        raise NotFound
    return row


def expiry() -> dict[str, Any]:
    """Return the columns of an export that ends now: its end, and the time of its deletion."""
    return {"finished_at": now(), "expires_at": now() + timedelta(days=LIFETIME_DAYS)}
