"""The job that writes the archive of a repository, from pages of issues and data that repos stores."""

import asyncio
import shutil
import zipfile
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.driver import is_outage
from ingot_chassis.jobs.jobs import Job, Jobs, LeaseLost
from ingot_chassis.jobs.workers import Work
from ingot_chassis.objects.store import ObjectStore
from ingot_contracts.repos.imports import ImportedPerson
from ingot_git.history.bundles import write_bundle
from ingot_git.history.lfs_pointers import history_pointers
from ingot_git.process.command import Cancellation
from ingot_git.process.streaming import in_threads
from ingot_git.refs.pull_heads import PULLS
from ingot_git.refs.refs import BRANCHES, TAGS, list_refs
from ingot_git.remote.remote import Reason
from ingot_git.storage.storage import Storage
from ingot_remotes.archives.archive import verify
from ingot_remotes.archives.gitea_layout import LayoutFailed, write_layout
from ingot_remotes.archives.layout import (
    BUNDLE,
    MOST_KEY_CHARACTERS,
    MOST_KEYS,
    PAGE_OBJECTS,
    VERSION,
    WIKI_BUNDLE,
    ArchivedKey,
    ArchivedPerson,
    ArchiveInvalid,
    Manifest,
    decode_lines,
    file_path,
    lfs_path,
    page_path,
)
from ingot_remotes.archives.writer import ArchiveWriter
from ingot_remotes.interface.source import KINDS, SourceAsset, SourceRelease
from ingot_repos.access.store import deploy_keys
from ingot_repos.archives import store
from ingot_repos.archives.rules import exports
from ingot_repos.archives.rules.settings import read_settings
from ingot_repos.archives.store import ExportRow, Layout, PageCount
from ingot_repos.catalog.store import repositories, wikis
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.imports.rules.lifecycle import DISCARD
from ingot_repos.lfs.rules.objects import LfsObjects
from ingot_repos.lfs.rules.objects import object_key as lfs_key
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.releases.rules.assets import object_key as asset_key
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.releases.store import releases
from ingot_repos.releases.store.assets import AssetRow
from ingot_repos.releases.store.releases import ReleaseFilter, ReleaseRow
from ingot_repos.repositories.store import topics

log = structlog.get_logger()
_T = TypeVar("_T")

TRIES = 3
ARCHIVE, LAYOUT = "archive.zip", "layout.zip"
YAML_GROWTH = 2
"""Room for a page in the layout, by its size in the archive."""
READ_BYTES = 1024 * 1024
WATCH_SECONDS = 1.0
"""Seconds between two looks whether an export was deleted, during long work."""
POINTERS = 100
"""Pointers to objects of LFS that are looked up together."""


class ExportFailed(Exception):
    """The archive cannot be written, and a retry would not help."""

    def __init__(self, reason: Reason) -> None:
        self.reason: Reason = reason
        super().__init__(reason)


class ExportEnded(Exception):
    """The export was deleted while its archive was written."""


class _Page:
    """A page of the list of releases."""

    def __init__(self, offset: int) -> None:
        self.limit, self.offset = PAGE_OBJECTS, offset


class ArchiveFolders:
    """The worker for jobs of the kind ``lifecycle.DISCARD``."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def work(self) -> dict[str, Work]:
        return {DISCARD: self.discard}

    async def discard(self, job: Job) -> None:
        await asyncio.to_thread(self._storage.discard_archive, job.key)


class ExportJobs:
    """The worker for jobs of the kind ``exports.EXPORT``."""

    def __init__(
        self,
        jobs: Jobs,
        storage: Storage,
        objects: ObjectStore,
        lfs: LfsObjects,
        presenter: Presenter,
        *,
        max_bytes: int,
    ) -> None:
        self._jobs, self._db, self._storage, self._objects = jobs, jobs.database, storage, objects
        self._lfs, self._presenter, self._max_bytes = lfs, presenter, max_bytes

    def work(self) -> dict[str, Work]:
        return {exports.EXPORT: self.run}

    async def run(self, job: Job) -> None:
        """Write and store the archive, unless the export was deleted. Its folder is deleted at the end.

        Raises unexpected errors, so the job is retried. In the attempt ``TRIES`` they fail the export.
        """
        name = job.key
        try:
            row, repository = await self._running(job)
            if row is not None and repository is not None:
                path, left_out = await self._write(row, repository), list[int]()
                manifest = await self._verified(path)
                await self._require_running(row)
                if row.layout == Layout.GITEA:
                    path, left_out = await self._lay_out(row, path, manifest)
                await self._store(job, row, path, left_out)
        except ExportEnded:
            log.info("export ended while it was written", export=name)
        except ExportFailed as error:
            await self._fail(job, error.reason)
        except LeaseLost:  # another worker writes it
            raise
        except Exception:
            if job.attempts < TRIES:
                raise
            log.exception("export failed", export=name)
            await self._fail(job, "failed")
        await asyncio.to_thread(self._storage.discard_archive, name)

    async def _verified(self, archive: Path) -> Manifest:
        """Verify an archive like an import does, and return its manifest.

        Raises ExportFailed if no import would accept the archive.
        """
        try:
            return await asyncio.to_thread(verify, archive, max_bytes=self._max_bytes)
        except ArchiveInvalid as error:
            log.warning("archive that no import takes", archive=str(archive), error=str(error))
            raise ExportFailed("too-large") from None

    async def _lay_out(self, row: ExportRow, archive: Path, manifest: Manifest) -> tuple[Path, list[int]]:
        """Write a ZIP file of Gitea's layout from an archive, and delete the archive.

        Return the path of the file, and the numbers of pull requests without a patch. Patches may use the
        bytes of the limit that the other files leave. Raises ExportFailed, ExportEnded.
        """
        folder = archive.parent / "layout"
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)  # of a killed worker
        sizes = (one.size * (YAML_GROWTH if one.path.endswith(".jsonl") else 1) for one in manifest.files)
        room = max(self._max_bytes - sum(sizes), 0)
        stop = Cancellation()
        layout = asyncio.to_thread(write_layout, archive, folder, most_patch_bytes=room, stop=stop)
        try:
            left_out = await self._while_running(row, layout, stop.cancel)
        except LayoutFailed:
            log.exception("export without layout", export=row.uuid)
            raise ExportFailed("failed") from None
        await asyncio.to_thread(archive.unlink)
        with zipfile.ZipFile(archive.parent / LAYOUT, "w") as target:
            for path in await asyncio.to_thread(_files_of, folder):
                await asyncio.to_thread(target.write, path, path.relative_to(folder))
                await self._require_room(row, target.start_dir)
        return archive.parent / LAYOUT, left_out

    async def _store(self, job: Job, row: ExportRow, path: Path, left_out: list[int]) -> None:
        """Store the archive and end the export. If the export was deleted, delete the stored archive.

        Raises ExportEnded if the export is deleted during the upload.
        """
        key = exports.object_key(row)
        upload = self._objects.put(key, in_threads(_blocks(path)), max_bytes=self._max_bytes)
        stored = await self._while_running(row, upload)
        async with self._db.transaction() as tx:
            numbers = msgspec.json.encode(left_out).decode()
            values = {"size": stored.size, "sha256": stored.sha256, "left_out": numbers, **exports.expiry()}
            has_export = await store.change(tx, row.uuid, state=ImportState.DONE, **values)
            await self._jobs.finish(tx, job)
        if not has_export:
            await self._objects.delete([key])

    async def _running(self, job: Job) -> tuple[ExportRow | None, RepositoryRow | None]:
        """Return the export of a job if it is running, and its repository. Either may be None."""
        async with self._db.read() as db:
            row = await store.get_running(db, job.key)
            repository = await repositories.get_unfiltered(db, row.repository_id) if row is not None else None
        return row, repository

    async def _fail(self, job: Job, reason: Reason) -> None:
        async with self._db.transaction() as tx:
            await store.change(tx, job.key, state=ImportState.FAILED, reason=reason, **exports.expiry())
            await self._jobs.fail(tx, job, reason)

    async def _write(self, row: ExportRow, repository: RepositoryRow) -> Path:
        """Write the archive into the folder of the export, and return its path.

        Raises ExportFailed, ExportEnded.
        """
        folder = self._storage.archive_folder(row.uuid)
        writer = await asyncio.to_thread(ArchiveWriter, folder / ARCHIVE)
        try:
            people = await self._add_pages(row, writer, folder)
            await self._add_git(row, repository.id, writer, folder / "git.bundle", BUNDLE)
            await self._add_wiki(row, repository.id, writer, folder)
            await self._add_lfs(row, repository, writer)
            counts = store.counts_of(row)
            counts["releases"] = PageCount(objects=await self._add_releases(row, writer, people))
            async with self._db.read() as db:
                names = await topics.names_of(db, repository.id)
                archived = await read_settings(db, self._presenter.repository(repository))
                keys = await deploy_keys.list_first(db, repository.id, MOST_KEYS)
            people |= {one.key: one for one in archived.people}
            manifest = Manifest(
                version=VERSION,
                created_at=now(),
                service="gitea",
                url=f"{self._presenter.root}{repository.owner_login}/{repository.name}",
                name=repository.name,
                default_branch=repository.default_branch,
                description=repository.description,
                private=repository.private,
                topics=list(names),
                counts={kind: count.objects for kind, count in counts.items()},
                settings=archived.settings,
                branch_rules=archived.branch_rules,
                tag_rules=archived.tag_rules,
                deploy_keys=[
                    ArchivedKey(title=one.title, key=one.content, read_only=one.read_only)
                    for one in keys
                    if len(one.content) <= MOST_KEY_CHARACTERS
                ],
                files=[],
            )
            await asyncio.to_thread(writer.add_people, list(people.values()))
            await asyncio.to_thread(writer.close, manifest)
        except BaseException:
            writer.discard()
            raise
        return folder / ARCHIVE

    async def _add_pages(
        self, row: ExportRow, writer: ArchiveWriter, folder: Path
    ) -> dict[tuple[int, str], ArchivedPerson]:
        """Add the pages of issues and the files of their texts. Return the people in them by their keys."""
        people: dict[tuple[int, str], ArchivedPerson] = {}
        for kind, count in store.counts_of(row).items():
            for number in range(1, count.pages + 1):
                if kind in KINDS:
                    page = folder / exports.page_file(kind, number)
                    await asyncio.to_thread(writer.add_file, page_path(kind, number), page, is_text=True)
                    text = (folder / exports.people_file(kind, number)).read_bytes()
                    people |= {one.key: one for one in decode_lines(text, ArchivedPerson)}
                    await self._require_room(row, writer.size)
        for file in await asyncio.to_thread(exports.files_in, folder):
            path = file_path(file.name.removeprefix(exports.FILE))
            await asyncio.to_thread(writer.add_file, path, file)
            await self._require_room(row, writer.size)
        return people

    async def _add_git(
        self, row: ExportRow, repository_id: int, writer: ArchiveWriter, path: Path, name: str
    ) -> None:
        """Add the branches, tags and pull request heads of a repository, as a bundle called ``name``.

        Without such refs, nothing is added.
        """
        refs = await self._storage.call(repository_id, list_refs, (BRANCHES, TAGS, PULLS))
        if refs:
            await self._while_running(row, write_bundle(self._storage.path(repository_id), refs, path))
            await asyncio.to_thread(writer.add_file, name, path)
            await asyncio.to_thread(path.unlink)
            await self._require_room(row, writer.size)

    async def _add_wiki(
        self, row: ExportRow, repository_id: int, writer: ArchiveWriter, folder: Path
    ) -> None:
        async with self._db.read() as db:
            wiki = await wikis.get(db, repository_id)
        if wiki is not None and self._storage.exists(wiki.id):
            await self._add_git(row, wiki.id, writer, folder / "wiki.bundle", WIKI_BUNDLE)

    async def _add_lfs(self, row: ExportRow, repository: RepositoryRow, writer: ArchiveWriter) -> None:
        """Add the LFS objects of all pointers in the history."""
        if not await self._lfs.has_any(repository.id):
            return
        async for pointers in history_pointers(self._storage.path(repository.id), at_once=POINTERS):
            oids = {one.oid for one in pointers if not writer.has(lfs_path(one.oid))}
            for oid, one in (await self._lfs.of_repository(repository, oids)).items():
                await self._add_object(row, writer, lfs_path(oid), lfs_key(one.uuid), one.size)

    async def _add_releases(
        self, export: ExportRow, writer: ArchiveWriter, people: dict[tuple[int, str], ArchivedPerson]
    ) -> int:
        """Add all releases with their files and authors. Return the number of releases."""
        count = 0
        while True:
            async with self._db.read() as db:
                rows, _ = await releases.list_page(
                    db, export.repository_id, ReleaseFilter(drafts_too=True), _Page(count)
                )
                assets = await release_assets.list_of_releases(db, [row.id for row in rows])
            if not rows:
                return count
            for asset in (asset for row in rows for asset in assets.get(row.id, [])):
                if not writer.has(file_path(asset.sha256)):
                    await self._add_object(
                        export,
                        writer,
                        file_path(asset.sha256),
                        asset_key(asset.repository_id, asset.uuid),
                        asset.size,
                    )
            for row in rows:
                if row.login is not None:
                    person = ArchivedPerson(source_id=row.author_id, name=row.login, email=row.email or "")
                    people[person.key] = person
            objects = [_release(row, assets.get(row.id, [])) for row in rows]
            number = count // PAGE_OBJECTS + 1
            await asyncio.to_thread(writer.add_page, "releases", number, objects)
            count += len(rows)

    async def _add_object(
        self, row: ExportRow, writer: ArchiveWriter, path: str, key: str, size: int
    ) -> None:
        """Add a stored object. Its chunks are written in threads. Raises the errors of ``_require_room``."""
        with writer.open(path) as entry:
            async for chunk in self._objects.read(key, range(size)):
                await asyncio.to_thread(entry.write, chunk)
        await self._require_room(row, writer.size)

    async def _require_room(self, row: ExportRow, size: int) -> None:
        """Raise ExportFailed if ``size`` in bytes exceeds the limit.

        Raise ExportEnded if the export was deleted.
        """
        if size > self._max_bytes:
            raise ExportFailed("too-large")
        await self._require_running(row)

    async def _require_running(self, row: ExportRow) -> None:
        """Raise ExportEnded if the export was deleted. An unavailable database does not end it."""
        try:
            async with self._db.read() as db:
                running = await store.get_running(db, row.uuid)
        except Exception as error:
            if not is_outage(error):
                raise
            return  # the next call checks again
        if running is None:
            raise ExportEnded

    async def _while_running(
        self, row: ExportRow, work: Coroutine[Any, Any, _T], stop: Callable[[], object] | None = None
    ) -> _T:
        """Return the result of long work. End the work if the export is deleted, or if this job is cancelled.

        ``stop`` ends work that runs in a thread. After this function, the work has ended and writes no more
        files. Raises ExportEnded, and the errors of the work.
        """
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait([task], timeout=WATCH_SECONDS))[0]:
                await self._require_running(row)
        except BaseException:
            _ = stop() if stop is not None else task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        return await task


def _release(row: ReleaseRow, assets: Sequence[AssetRow]) -> SourceRelease:
    author = ImportedPerson(name=row.original_author, source_id=row.original_author_id)
    if row.login is not None:
        author = ImportedPerson(name=row.login, source_id=row.author_id)
    return SourceRelease(
        author=author,
        tag_name=row.tag_name,
        target=row.target_commitish,
        name=row.name,
        body=row.body,
        draft=row.draft,
        prerelease=row.prerelease,
        created_at=row.created_at,
        published_at=row.published_at,
        assets=[
            SourceAsset(name=one.name, url=file_path(one.sha256), size=one.size, created_at=one.created_at)
            for one in assets
        ],
    )


def _files_of(folder: Path) -> list[Path]:
    """Return the files and the empty folders of a folder. Blocks."""
    return sorted(path for path in folder.rglob("*") if path.is_file() or not any(path.iterdir()))


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file. Blocks."""
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            yield block
