"""Disks that fail or are full: turns the errors of libgit2 and the system into those of this package."""

import contextlib
import ctypes
import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pygit2

from ingot_repos.git.errors import RepositoryDamaged, StorageFull

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The last is what git says of a pack or an index in place of the system's words.
_FULL_ENDINGS = (*(f": {os.strerror(code)}" for code in _FULL), "' write error. Out of diskspace")
_CHUNK = 1024 * 1024
_LITTLE_ROOM = 64 * _CHUNK
FEW_REFS = 20
"""So many are flushed one by one; more of them by `flush`."""
_LIBC = ctypes.CDLL(None, use_errno=True)


def flush(path: Path) -> None:
    """Return when everything that was written to the volume of ``path`` is on disk (syncfs(2)). Blocks. Raises OSError."""
    with _opened(path) as descriptor:
        if _LIBC.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))


def flush_files(paths: Iterable[Path]) -> None:
    """Return when these files and folders are on disk. Blocks. Raises OSError."""
    for path in paths:
        with _opened(path) as descriptor:
            os.fsync(descriptor)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class NotWritten(pygit2.GitError):
    """libgit2 has failed where it writes; the text may be that of an error before."""


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """libgit2 writes objects inside the block. Raises NotWritten in place of its errors."""
    try:
        yield
    except pygit2.GitError as error:
        raise NotWritten(str(error)) from error


@contextlib.contextmanager
def disk_errors(folder: Path | None = None) -> Iterator[None]:
    """Replace the errors of libgit2 inside the block, which is about files in ``folder``.

    libgit2 says nothing of its own when a part of an object could not be written: the text is that of an error before. So
    where there is less room than ``_LITTLE_ROOM`` any error of ``writing`` is for want of room.

    Raises:
        StorageFull: something could not be written because the disk is full.
        RepositoryDamaged: libgit2 could not read or write for any other reason.
    """
    try:
        yield
    except pygit2.GitError as error:
        is_unwritten = isinstance(error, NotWritten) and folder is not None and _has_little_room(folder)
        if is_unwritten or says_full(str(error)):
            raise StorageFull("the disk is full") from error
        raise RepositoryDamaged(str(error)) from error
    except OSError as error:
        # libgit2's own have no number: pygit2 gives the text alone.
        if error.errno in _FULL or says_full(str(error)):
            raise StorageFull("the disk is full") from error
        raise


def says_full(message: str) -> bool:
    """Whether a message of libgit2 or git ends with the words for a full disk; before them it may quote users."""
    return message.endswith(_FULL_ENDINGS)


def check_loose_objects(path: Path) -> None:
    """Inflate each loose object once, because libgit2 up to 1.9.7 never ends on a truncated one.

    This can go when libgit2 has the fix (its pull request 7346). Of packs it finds itself what is wrong; should it crash on
    a damaged index all the same, `read_watch` knows of which repository.

    Raises:
        RepositoryDamaged: an object is incomplete; the text has its id.
    """
    for folder in os.scandir(path / "objects"):
        if len(folder.name) == 2:
            # git removes a folder when it has packed what was there.
            with contextlib.suppress(FileNotFoundError):
                for file in os.scandir(folder):
                    if len(file.name) == 38 and not _is_complete(Path(file.path)):
                        raise RepositoryDamaged(f"object {folder.name}{file.name} is broken")


def _is_complete(file: Path) -> bool:
    inflater = zlib.decompressobj()
    try:
        with file.open("rb") as raw:
            while not inflater.eof and (chunk := raw.read(_CHUNK)):
                while chunk and not inflater.eof:
                    inflater.decompress(chunk, _CHUNK)
                    chunk = inflater.unconsumed_tail
    except FileNotFoundError:
        return True  # it was moved into a pack meanwhile
    except zlib.error:
        return False
    return inflater.eof


def _has_little_room(folder: Path) -> bool:
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize < _LITTLE_ROOM
