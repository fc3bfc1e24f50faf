"""Archives of a commit, streamed out of `git archive` (git-archive(1)), and kept on disk for the next one who asks.

The cache lies beside the repositories: `archives/<repository id>/<commit>-<folder>.<format>`. A file appears there
whole or not at all. What was not asked for longest goes first. A full disk or a lost file costs no more than
making the archive anew.
"""

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import structlog

from ingot_repos.git.command import GitArgs
from ingot_repos.git.errors import InvalidName
from ingot_repos.git.refs import is_object_id
from ingot_repos.git.streaming import stream_git

log = structlog.get_logger()

ArchiveFormat = Literal["zip", "tar.gz"]

TIME_LIMIT = 600.0
PARTIAL = "partial"
_FOLDER = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")
_CHUNK = 256 * 1024


def stream_archive(
    path: Path, commit: str, archive_format: ArchiveFormat, folder: str, *, time_limit: float = TIME_LIMIT
) -> AsyncGenerator[bytes, None]:
    """Yield the archive of a commit with everything inside one root folder.

    Args:
        path: the bare repository.
        commit: full id, known to exist.
        archive_format: the same commit and folder always give the same bytes of tar; gzip without time.
        folder: name of the root folder: letters, digits, `.`, `_` and `-`.
        time_limit: seconds; git is killed then, and whenever the consumer closes the generator.

    Raises:
        InvalidName: at once, for the commit or the folder.
        GitFailed: while iterating; before the first chunk when the commit does not exist.
    """
    _check(commit, folder)
    args = GitArgs("archive", (f"--format={archive_format}", f"--prefix={folder}/"), (commit,))
    return stream_git(args, git_dir=path, time_limit=time_limit)


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive on its way; `size` in bytes is known for one out of the cache."""

    chunks: AsyncGenerator[bytes, None]
    size: int | None


class Archives:
    """Archives with a cache of at most `max_bytes`, shared by all processes of a volume.

    Args:
        root: the folder of the cache; made when missing.
        max_bytes: of all kept archives; 0 keeps none.
    """

    def __init__(self, root: Path, *, max_bytes: int) -> None:
        self._root = root
        self._partial = root / PARTIAL
        self._max_bytes = max_bytes
        self._trimming = threading.Lock()
        self._partial.mkdir(parents=True, exist_ok=True)

    async def open(
        self, repo_id: int, path: Path, commit: str, archive_format: ArchiveFormat, folder: str
    ) -> Archive:
        """The archive; arguments and errors are those of `stream_archive`, `path` that of repository `repo_id`."""
        _check(commit, folder)
        place = self._root / str(repo_id) / f"{commit}-{folder}.{archive_format}"
        kept = await asyncio.to_thread(_open_kept, place)
        if kept is not None:
            return Archive(_read(kept), os.fstat(kept.fileno()).st_size)
        made = stream_archive(path, commit, archive_format, folder)
        return Archive(self._keeping(made, place) if self._max_bytes else made, None)

    def forget(self, repo_id: int) -> None:
        """Remove the archives of a repository. Blocks."""
        shutil.rmtree(self._root / str(repo_id), ignore_errors=True)

    def trim(self) -> None:
        """Remove what is too much, least recently used first, and what dead processes left half-made. Blocks."""
        with self._trimming:
            kept, total = [], 0
            for file in self._root.glob("*/*"):
                with contextlib.suppress(FileNotFoundError):
                    status = file.stat()
                    if file.parent == self._partial and status.st_mtime < time.time() - 2 * TIME_LIMIT:
                        file.unlink()
                        continue
                    total += status.st_size
                    if file.parent != self._partial:
                        kept.append((status.st_mtime_ns, status.st_size, file))
            for _, size, file in sorted(kept):
                if total <= self._max_bytes:
                    return
                file.unlink(missing_ok=True)
                total -= size

    async def _keeping(self, made: AsyncGenerator[bytes, None], place: Path) -> AsyncGenerator[bytes, None]:
        """Pass an archive on and write it down; only one that came to its end is kept."""
        partial = await asyncio.to_thread(_Partial, self._partial, self._max_bytes)
        try:
            async with contextlib.aclosing(made):
                async for chunk in made:
                    await asyncio.to_thread(partial.write, chunk)
                    yield chunk
            if await asyncio.to_thread(partial.publish, place):
                await asyncio.to_thread(self.trim)
        finally:
            partial.discard()


class _Partial:
    """A file that is being written; it gives up, and says so, when there is no room for it."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._left = max_bytes
        self._file: IO[bytes] | None = None
        try:
            descriptor, name = tempfile.mkstemp(dir=folder)
            self._file, self._name = os.fdopen(descriptor, "wb", buffering=0), Path(name)
        except OSError as error:
            log.warning("archive not kept", error=error.strerror)

    def write(self, chunk: bytes) -> None:
        self._left -= len(chunk)
        if self._file is None:
            return
        try:
            if self._left < 0 or self._file.write(chunk) != len(chunk):
                self.discard()
        except OSError as error:
            log.warning("archive not kept", error=error.strerror)
            self.discard()

    def publish(self, place: Path) -> bool:
        """Rename it to its place; whether it is there now."""
        if self._file is None:
            return False
        try:
            place.parent.mkdir(exist_ok=True)
            self._name.rename(place)
        except OSError as error:
            log.warning("archive not kept", error=error.strerror)
            return False
        self._file.close()
        self._file = None
        return True

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._name.unlink(missing_ok=True)


def _check(commit: str, folder: str) -> None:
    if not is_object_id(commit):
        raise InvalidName("not a commit id")
    if _FOLDER.fullmatch(folder) is None:
        raise InvalidName("not a folder name")


def _open_kept(place: Path) -> IO[bytes] | None:
    try:
        file = place.open("rb", buffering=0)
    except OSError:
        return None
    os.utime(file.fileno())
    return file


async def _read(file: IO[bytes]) -> AsyncGenerator[bytes, None]:
    with file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
