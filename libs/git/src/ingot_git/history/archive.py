"""Archives of a commit: streamed from git (git-archive(1), git-bundle(1)), and cached on disk.

The cache is in the folder of the repositories: `archives/<repository id>/<commit>-<folder>.<format>`. A file
gets this name only when it is complete. The least recently used archive is evicted first. If the disk is
full or a file is lost, the archive is created again.

A small commit can occupy git for hours, because git compares each pattern of `.gitattributes` with each path.
So the CPU time of git is limited in proportion to its output. Before git writes a bundle, it lists all
objects. So the limit of a bundle also grows with the size of the repository.
"""

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import pygit2
import structlog

from ingot_git.history.commits import find_commit
from ingot_git.process.command import MIB, GitArgs, clean_environment
from ingot_git.process.cpu_time import CpuLimit
from ingot_git.process.errors import InvalidName
from ingot_git.process.streaming import once, stream_git
from ingot_git.refs.refs import is_object_id
from ingot_git.refs.trees import entry_at
from ingot_git.storage.packs import while_in_use

log = structlog.get_logger()

ArchiveFormat = Literal["zip", "tar.gz", "bundle"]

TIME_LIMIT = 600.0
MAX_CPU = CpuLimit(0.5, bytes_per_second=3 * MIB)
"""Compressing source code takes a third of this CPU time."""
_LISTED_PER_SECOND = 8 * MIB
"""Bytes of a repository. Without a bitmap, listing its objects takes a half of this CPU time."""
_CONFIG = (("core.bigFileThreshold", "4m"),)
"""git compresses a file of up to this size before it writes any output; it streams larger files."""
PARTIAL = "partial"
_FOLDER = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")
_CHUNK = 256 * 1024


def stream_archive(
    path: Path,
    commit: str,
    archive_format: ArchiveFormat,
    folder: str,
    *,
    only: Sequence[str] = (),
    size: int = 0,
    time_limit: float = TIME_LIMIT,
    max_memory: int | None = None,
    charge: Callable[[float], None] | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield the archive of a commit with all files inside one root folder, or a bundle of its history.

    While this runs, the repository is not pruned.

    Args:
        path: the bare repository.
        commit: full id of a commit that exists.
        archive_format: the tar of a commit and folder is reproducible; gzip writes no time into it.
        folder: name of the root folder: letters, digits, `.`, `_` and `-`.
        only: paths of files and folders; the archive contains only these. Not for a bundle.
        size: bytes of the repository, which increase the limit of CPU time for a bundle.
        time_limit: seconds, after which git is killed. Closing the generator kills git, too.
        max_memory: see `spawn`.
        charge: see `stream_git`.

    Raises:
        InvalidName: immediately, for the commit or the folder.
        GitFailed: while iterating; before the first chunk if the commit does not exist.
        GitTimedOut: while iterating, after ``time_limit``. The subclass GitTooExpensive: git exceeded the
            limit of CPU time.
    """
    _check(commit, folder)
    if archive_format == "bundle":
        return stream_bundle(
            path, commit, size=size, time_limit=time_limit, max_memory=max_memory, charge=charge
        )
    args = GitArgs(
        "archive",
        (f"--format={archive_format}", f"--prefix={folder}/"),
        (commit, *(f":(literal,top){one}" for one in only)),
    )
    stream = stream_git(
        args,
        git_dir=path,
        environment=archive_environment(),
        time_limit=time_limit,
        max_memory=max_memory,
        max_cpu=MAX_CPU,
        charge=charge,
    )
    return while_in_use(path, stream)


def archive_environment() -> dict[str, str]:
    """Return the environment of a git process that creates an archive within `MAX_CPU`."""
    return clean_environment(config=_CONFIG)


def require_paths(repo: pygit2.Repository, commit: str, paths: Sequence[str]) -> None:
    """Raise ObjectNotFound if a commit (full id) does not exist, or lacks one of the paths."""
    tree = str(find_commit(repo, commit).tree_id)
    for path in paths:
        entry_at(repo, tree, path)


async def stream_bundle(
    path: Path,
    commit: str,
    *,
    size: int,
    time_limit: float = TIME_LIMIT,
    max_memory: int | None = None,
    charge: Callable[[float], None] | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield a bundle (gitformat-bundle(5)) of a commit and its history. Its branch is `bundle`.

    A bundle can be cloned. While this runs, the repository is not pruned. For the arguments see
    `stream_archive`. While iterating, this raises the errors of `stream_git`.
    """
    max_cpu = MAX_CPU._replace(seconds=MAX_CPU.seconds + size / _LISTED_PER_SECOND)
    args = GitArgs("pack-objects", ("--revs", "--stdout", "--quiet", "--delta-base-offset"))
    yield f"# v2 git bundle\n{commit} refs/heads/bundle\n{commit} HEAD\n\n".encode()
    body = once(f"{commit}\n".encode())
    pack = stream_git(
        args,
        git_dir=path,
        body=body,
        time_limit=time_limit,
        max_memory=max_memory,
        max_cpu=max_cpu,
        charge=charge,
    )
    async with contextlib.aclosing(while_in_use(path, pack)) as chunks:
        async for chunk in chunks:
            yield chunk


@dataclass(frozen=True, slots=True)
class ArchiveName:
    """The name of an archive of a commit (full id). Raises InvalidName for the commit or the folder."""

    repo_id: int
    commit: str
    archive_format: ArchiveFormat
    folder: str

    def __post_init__(self) -> None:
        _check(self.commit, self.folder)


@dataclass(frozen=True, slots=True)
class Archive:
    """The chunks of an archive, and its size in bytes. The size is None if the archive is not cached."""

    chunks: AsyncGenerator[bytes, None]
    size: int | None


class Archives:
    """A cache of archives, shared by all processes of a volume.

    Args:
        root: the folder of the cache; created if it is missing.
        max_bytes: limit for the size of all cached archives; 0 disables the cache.
    """

    def __init__(self, root: Path, *, max_bytes: int) -> None:
        self._root = root
        self._partial = root / PARTIAL
        self._max_bytes = max_bytes
        self._trim_lock = threading.Lock()
        self._partial.mkdir(parents=True, exist_ok=True)

    async def find(self, name: ArchiveName) -> Archive | None:
        """Return a cached archive, or None. The caller must check the permissions first."""
        file = await asyncio.to_thread(_open_cached, self._path(name))
        return None if file is None else Archive(_read(file), os.fstat(file.fileno()).st_size)

    def keep(
        self, name: ArchiveName, path: Path, chunks: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of an archive, and cache it if all are read. ``path`` is its repository."""
        return self._cached(name, path, chunks) if self._max_bytes else chunks

    def _path(self, name: ArchiveName) -> Path:
        return self._root / str(name.repo_id) / f"{name.commit}-{name.folder}.{name.archive_format}"

    def remove(self, repo_id: int) -> None:
        """Remove the archives of a repository. Blocks."""
        shutil.rmtree(self._root / str(repo_id), ignore_errors=True)

    def trim(self) -> None:
        """Remove the least recently used archives above the limit, and stale partial files. Blocks."""
        with self._trim_lock:
            archives, total = [], 0
            for file in self._files():
                with contextlib.suppress(FileNotFoundError):
                    status = file.stat()
                    if file.parent == self._partial and status.st_mtime < time.time() - 2 * TIME_LIMIT:
                        file.unlink()
                        continue
                    total += status.st_size
                    if file.parent != self._partial:
                        archives.append((status.st_mtime_ns, status.st_size, file))
            for _, size, file in sorted(archives):
                if total <= self._max_bytes:
                    return
                file.unlink(missing_ok=True)
                total -= size

    def _files(self) -> Iterator[Path]:
        """Yield all files of the cache. A folder that is deleted at the same time is skipped."""
        for folder in self._root.iterdir():
            files = list[Path]()
            with contextlib.suppress(FileNotFoundError):
                files += folder.iterdir()
            yield from files

    async def _cached(
        self, name: ArchiveName, path: Path, chunks: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        partial = await asyncio.to_thread(_Partial, self._partial, self._max_bytes)
        try:
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    await asyncio.to_thread(partial.write, chunk)
                    yield chunk
            if await asyncio.to_thread(partial.publish, self._path(name)):
                if not await asyncio.to_thread(path.exists):  # it was deleted while git ran
                    await asyncio.to_thread(self.remove, name.repo_id)
                await asyncio.to_thread(self.trim)
        finally:
            partial.discard()


class _Partial:
    """A temporary file of an archive. If the disk is full, the file is removed and a warning is logged."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._left = max_bytes
        self._file: IO[bytes] | None = None
        try:
            descriptor, name = tempfile.mkstemp(dir=folder)
            self._file, self._name = os.fdopen(descriptor, "wb", buffering=0), Path(name)
        except OSError as error:
            log.warning("archive not cached", error=error.strerror)

    def write(self, chunk: bytes) -> None:
        self._left -= len(chunk)
        if self._file is None:
            return
        try:
            if self._left < 0 or self._file.write(chunk) != len(chunk):
                self.discard()
        except OSError as error:
            log.warning("archive not cached", error=error.strerror)
            self.discard()

    def publish(self, cache_path: Path) -> bool:
        """Rename the file to its final path. Return False if there is no file, or if the rename failed."""
        if self._file is None:
            return False
        try:
            cache_path.parent.mkdir(exist_ok=True)
            self._name.rename(cache_path)
        except OSError as error:
            log.warning("archive not cached", error=error.strerror)
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


def _open_cached(path: Path) -> IO[bytes] | None:
    try:
        file = path.open("rb", buffering=0)
    except OSError:
        return None
    os.utime(file.fileno())
    return file


async def _read(file: IO[bytes]) -> AsyncGenerator[bytes, None]:
    with file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
