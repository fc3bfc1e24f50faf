"""Reads archives: each is the recording of a source in one file, which may be untrusted.

No file is unpacked under its own path. ``verify`` reads everything once, before anything is created.
"""

import asyncio
import hashlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ingot_git.process.streaming import in_threads
from ingot_remotes.archives.bundles import require_bundle
from ingot_remotes.archives.layout import (
    ARCHIVED_KINDS,
    BUNDLE,
    LINES,
    MANIFEST,
    MOST_PAGE_BYTES,
    MOST_PAGE_OBJECTS,
    PATH,
    PEOPLE,
    VERSION,
    WIKI_BUNDLE,
    ArchivedFile,
    ArchivedPerson,
    ArchiveInvalid,
    Manifest,
    decode_lines,
    page_path,
    people_in,
    with_files_at,
)
from ingot_remotes.forges.gitea_answers import branch_rule_of, settings_of, tag_rule_of
from ingot_remotes.interface.source import (
    SOURCES,
    Kind,
    PersonKey,
    SourceFailed,
    SourcePage,
    SourceRules,
    SourceSettings,
)

MOST_INDEX_BYTES = 8 * 1024 * 1024
"""Limit of one read: the ZIP module reads the whole list of files at once."""
CHUNK = 256 * 1024
MOST_EXPANSION = 200
"""Limit of the size of all files divided by that of the archive, if they have more than ``SMALL`` bytes."""
SMALL = 64 * 1024 * 1024
MOST_PEOPLE_BYTES = 16 * 1024 * 1024
MOST_PAGES_BYTES = 1024 * 1024 * 1024
"""Limit of all pages together: each value of them is checked."""
_DAMAGED = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class _BoundedFile(io.FileIO):
    """A file that limits each read to ``MOST_INDEX_BYTES``, which also limits the index of an archive.

    ``read`` raises ArchiveInvalid if more bytes are left.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        is_bounded = size is not None and 0 <= size <= MOST_INDEX_BYTES
        data = super().read(size if is_bounded else MOST_INDEX_BYTES + 1)
        if len(data) > MOST_INDEX_BYTES:
            raise ArchiveInvalid("the archive has too many files")
        return data


class Archive:
    """An open archive (see ``open_archive``). Every method blocks, and raises ArchiveInvalid."""

    def __init__(self, files: zipfile.ZipFile) -> None:
        self._files = files
        self._paths = frozenset(files.namelist())

    def infos(self) -> list[zipfile.ZipInfo]:
        return self._files.infolist()

    def paths(self) -> frozenset[str]:
        return self._paths

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file."""
        with _damages(), self._files.open(path) as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def read(self, path: str, most_bytes: int) -> bytes:
        """Return the content of a file. Raises ArchiveInvalid if it has more than ``most_bytes``."""
        with _damages():
            size = self._files.getinfo(path).file_size
        if size > most_bytes:
            raise ArchiveInvalid(f"{path} has more than {most_bytes:,} bytes")
        return b"".join(self.chunks(path))

    def require_bundle(self, path: str) -> None:
        with _damages(), self._files.open(path) as file:
            # The readline of the ZIP module returns more than its limit.
            require_bundle(io.BufferedReader(file), path)  # type: ignore[arg-type]

    def copy_bundle(
        self, path: str, target: Path, *, require_needed: Callable[[], object] = lambda: None
    ) -> None:
        """Check a bundle, and copy it to ``target``, so git can read it.

        ``require_needed`` is called for each chunk. An error that it raises ends the copy.
        """
        self.require_bundle(path)
        with target.open("wb") as file:
            for chunk in self.chunks(path):
                require_needed()
                file.write(chunk)

    def size(self, path: str) -> int:
        with _damages():
            return self._files.getinfo(path).file_size

    def manifest(self) -> Manifest:
        if MANIFEST not in self.paths():
            raise ArchiveInvalid(f"the file has no {MANIFEST}, so it is not an archive of Ingot")
        try:
            manifest = msgspec.json.decode(self.read(MANIFEST, MOST_PAGE_BYTES), type=Manifest)
        except msgspec.MsgspecError as error:
            raise ArchiveInvalid(f"{MANIFEST}: {error}") from None
        except RecursionError:
            raise ArchiveInvalid(f"{MANIFEST}: nested too deeply") from None
        if manifest.version != VERSION:
            raise ArchiveInvalid(f"the archive has version {manifest.version}; {VERSION} can be imported")
        return manifest

    def page(self, kind: Kind, number: int, links: str = "") -> list[Any]:
        """Return the objects of a page. Files that are not in the archive are omitted.

        ``links`` is the prefix of links to files in texts.
        """
        path = page_path(kind, number)
        objects = decode_lines(self.read(path, MOST_PAGE_BYTES), LINES[kind])
        if not 0 < len(objects) <= MOST_PAGE_OBJECTS:
            raise ArchiveInvalid(f"{path} has {len(objects)} lines; 1 to {MOST_PAGE_OBJECTS} are allowed")
        return [with_files_at(self._paths, one, links) for one in objects]

    def people(self) -> dict[PersonKey, str]:
        """Return the addresses of people by their keys."""
        if PEOPLE not in self.paths():
            return {}
        lines = decode_lines(self.read(PEOPLE, MOST_PEOPLE_BYTES), ArchivedPerson)
        return {one.key: one.email for one in lines}


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive. Blocks. Raises ArchiveInvalid, FileNotFoundError."""
    with _BoundedFile(path) as file:
        with _damages():
            files = zipfile.ZipFile(file)
        with files:
            yield Archive(files)


def verify(path: Path, *, max_bytes: int) -> Manifest:
    """Check a whole archive, and return its manifest. Blocks.

    ``max_bytes`` limits the size of all files before compression. Raises ArchiveInvalid, FileNotFoundError.
    """
    with open_archive(path) as archive:
        _require_regular(archive.infos(), path.stat().st_size)
        manifest = archive.manifest()
        files = {one.path: one for one in manifest.files}
        if len(files) != len(manifest.files) or archive.paths() != files.keys() | {MANIFEST}:
            raise ArchiveInvalid(f"the files of the archive are not those of {MANIFEST}")
        if sum(one.size for one in manifest.files) > max_bytes:
            raise ArchiveInvalid(f"the archive has more than {max_bytes:,} bytes")
        if sum(one.size for one in manifest.files if one.path.endswith(".jsonl")) > MOST_PAGES_BYTES:
            raise ArchiveInvalid(f"the pages have more than {MOST_PAGES_BYTES:,} bytes")
        if manifest.service not in SOURCES:
            raise ArchiveInvalid(f"{MANIFEST}: the service {manifest.service!r} is unknown")
        for one in manifest.files:
            _require_contents(archive, one)
        for bundle in files.keys() & {BUNDLE, WIKI_BUNDLE}:
            archive.require_bundle(bundle)
        for kind in ARCHIVED_KINDS:
            _require_pages(archive, kind, files.keys())
        archive.people()
        return manifest


def _require_regular(infos: list[zipfile.ZipInfo], archive_bytes: int) -> None:
    """Check the list of files before any file is read. Raises ArchiveInvalid."""
    if sum(info.compress_size for info in infos) > archive_bytes:
        raise ArchiveInvalid("the archive is damaged: its files overlap")
    if sum(info.file_size for info in infos) > max(SMALL, archive_bytes * MOST_EXPANSION):
        raise ArchiveInvalid(f"the files are more than {MOST_EXPANSION} times as large as the archive")
    if len({info.filename for info in infos}) != len(infos):
        raise ArchiveInvalid("the archive has two files with one path")
    for info in infos:
        name = info.filename[:100]
        if not PATH.fullmatch(info.filename):
            raise ArchiveInvalid(f"the path {name!r} is not in the layout")
        if info.flag_bits & 1:
            raise ArchiveInvalid(f"{name} is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ArchiveInvalid(f"{name} is compressed by another method than deflate")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ArchiveInvalid(f"{name} is a link or another special file")


def _require_contents(archive: Archive, file: ArchivedFile) -> None:
    match, digest, size = PATH.fullmatch(file.path), hashlib.sha256(), 0
    for chunk in archive.chunks(file.path):
        digest.update(chunk)
        size += len(chunk)
    named = match["hash"] if match is not None else None
    if size != file.size or digest.hexdigest() != file.sha256 or named not in (None, file.sha256):
        raise ArchiveInvalid(f"{file.path} is not the file that {MANIFEST} names: its sha256 differs")


def _require_pages(archive: Archive, kind: Kind, paths: Any) -> None:
    """Check that the pages of a kind have the numbers 1 to their count, and that all can be read."""
    count = sum(path.startswith(f"{kind}/") for path in paths)
    for number in range(1, count + 1):
        if page_path(kind, number) not in paths:
            raise ArchiveInvalid(f"{page_path(kind, number)} is missing")
        for one in archive.page(kind, number):
            for asset in one.assets if kind == "releases" else ():
                if not asset.url.startswith("files/") or asset.url not in paths:
                    raise ArchiveInvalid(f"{page_path(kind, number)}: an asset has no file in the archive")


@contextmanager
def _damages() -> Iterator[None]:
    """Turn errors of the ZIP module into ArchiveInvalid."""
    try:
        yield
    except _DAMAGED:
        raise ArchiveInvalid("the archive is damaged, or not a ZIP file") from None


class ArchiveSource:
    """The source that an archive recorded.

    Use it for one step, because it caches the manifest and the people. Its methods raise SourceFailed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._manifest: Manifest | None = None
        self._people: dict[PersonKey, str] | None = None

    async def pull_offset(self) -> int:
        """Return the offset that the numbers of pull requests already have."""
        return (await self._read_manifest()).pull_offset

    async def settings(self) -> SourceSettings:
        manifest = await self._read_manifest()
        if manifest.settings is None:
            return SourceSettings(topics=manifest.topics, description=manifest.description)
        settings = settings_of(manifest.settings, manifest.topics)
        return msgspec.structs.replace(settings, description=manifest.description)

    async def rules(self) -> SourceRules:
        """Return the rules, and the addresses of people in the archive whose logins the rules contain."""
        manifest = await self._read_manifest()
        branches = [branch_rule_of(one) for one in manifest.branch_rules]
        tags = [tag_rule_of(one) for one in manifest.tag_rules]
        groups = [group for one in branches for group in one.people.values()]
        names = {name.lower() for group in (*groups, *(one.people for one in tags)) for name in group}
        people = await self._read_people() if names else {}
        addresses = {key: email for key, email in people.items() if key[1].lower() in names}
        return SourceRules(branches=branches, tags=tags, addresses=addresses)

    async def _read_people(self) -> dict[PersonKey, str]:
        def read() -> dict[PersonKey, str]:
            with open_archive(self._path) as archive:
                return archive.people()

        if self._people is None:
            with _faults():
                self._people = await asyncio.to_thread(read)
        return self._people

    async def count(self, kind: Kind) -> int | None:
        return (await self._read_manifest()).counts.get(kind)

    def file(self, url: str) -> AbstractAsyncContextManager[tuple[AsyncIterator[bytes], int | None]]:
        """Open a file by its path."""
        return self._open_file(url)

    async def page(self, kind: Kind, place: str) -> SourcePage:
        """Return a page. ``place`` is its number; empty for the first page. Raises SourceFailed."""
        with _faults():
            return await asyncio.to_thread(self._page, kind, int(place or "1"))

    def _page(self, kind: Kind, number: int) -> SourcePage:
        with open_archive(self._path) as archive:
            paths = archive.paths()
            if page_path(kind, number) not in paths:
                return SourcePage(size=0, total=0)
            objects = archive.page(kind, number, f"{self._manifest_of(archive).url}/attachments")
            if self._people is None:
                self._people = archive.people()
            people = self._people
            lists: dict[str, Any] = {kind: objects}
            if kind == "pulls":
                lists["comments"] = [text for one in objects for text in one.comments]
            following = str(number + 1) if page_path(kind, number + 1) in paths else ""
            return SourcePage(
                size=len(objects),
                first=number,
                following=following,
                total=self._manifest_of(archive).counts.get(kind),
                addresses={key: people[key] for key in _keys_of(objects) if key in people},
                **lists,
            )

    async def _read_manifest(self) -> Manifest:
        def read() -> Manifest:
            with open_archive(self._path) as archive:
                return self._manifest_of(archive)

        if self._manifest is not None:
            return self._manifest
        with _faults():
            return await asyncio.to_thread(read)

    def _manifest_of(self, archive: Archive) -> Manifest:
        if self._manifest is None:
            self._manifest = archive.manifest()
        return self._manifest

    @asynccontextmanager
    async def _open_file(self, path: str) -> AsyncIterator[tuple[AsyncIterator[bytes], int | None]]:
        async with open_in_thread(self._path) as archive:
            with _faults():
                size = archive.size(path)
            yield read_in_threads(archive, path), size


@asynccontextmanager
async def open_in_thread(path: Path) -> AsyncIterator[Archive]:
    """Open an archive. Raises SourceFailed."""
    opened = open_archive(path)
    with _faults():
        archive = await asyncio.to_thread(opened.__enter__)
    try:
        yield archive
    finally:
        opened.__exit__(None, None, None)


async def read_in_threads(archive: Archive, path: str) -> AsyncIterator[bytes]:
    """Yield the bytes of a file. Raises SourceFailed."""
    with _faults():
        async for chunk in in_threads(archive.chunks(path)):
            yield chunk


def _keys_of(objects: list[Any]) -> set[PersonKey]:
    return {(one.source_id, one.name) for one in people_in(objects)}


@contextmanager
def _faults() -> Iterator[None]:
    """Turn a damaged or missing archive into SourceFailed."""
    try:
        yield
    except (ArchiveInvalid, FileNotFoundError):
        raise SourceFailed("archive") from None
