"""Writes an archive (see ``archives.layout``)."""

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from ingot_remotes.archives.layout import (
    MANIFEST,
    PEOPLE,
    ArchivedFile,
    ArchivedPerson,
    Manifest,
    encode_lines,
    page_path,
)
from ingot_remotes.interface.source import Kind

CHUNK = 1024 * 1024


class _Entry:
    """A file that is being written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest, self.size = file, hashlib.sha256(), 0

    def write(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self.digest.update(chunk)
        self.size += len(chunk)


class ArchiveWriter:
    """A writer of one archive. Every method blocks, and raises OSError."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w")
        self._files: dict[str, ArchivedFile] = {}
        self.size = 0
        """The bytes of all files, before compression. An export reads it behind each file."""

    def has(self, path: str) -> bool:
        return path in self._files

    @contextmanager
    def open(self, path: str, *, is_text: bool = False) -> Iterator[_Entry]:
        """Open a new file of the archive. Only texts are compressed."""
        info = zipfile.ZipInfo(path)
        info.compress_type = zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED
        with self._zip.open(info, "w", force_zip64=True) as file:
            entry = _Entry(file)
            yield entry
        self.size += entry.size
        self._files[path] = ArchivedFile(path=path, size=entry.size, sha256=entry.digest.hexdigest())

    def add_page(self, kind: Kind, number: int, objects: Sequence[msgspec.Struct]) -> None:
        """Add a page. The first page has the number 1."""
        with self.open(page_path(kind, number), is_text=True) as entry:
            entry.write(encode_lines(objects))

    def add_people(self, people: Sequence[ArchivedPerson]) -> None:
        if people:
            with self.open(PEOPLE, is_text=True) as entry:
                entry.write(encode_lines(people))

    def add_file(self, path: str, source: Path, *, is_text: bool = False) -> None:
        """Add a copy of the file ``source``. Only texts are compressed."""
        with source.open("rb") as file, self.open(path, is_text=is_text) as entry:
            while chunk := file.read(CHUNK):
                entry.write(chunk)

    def close(self, manifest: Manifest) -> None:
        """Add the manifest with the list of all files, and end the archive."""
        whole = msgspec.structs.replace(manifest, files=list(self._files.values()))
        with self.open(MANIFEST, is_text=True) as entry:
            entry.write(msgspec.json.format(msgspec.json.encode(whole)))
        self._zip.close()

    def discard(self) -> None:
        """Release the file of an archive that will not be used."""
        self._zip.close()
