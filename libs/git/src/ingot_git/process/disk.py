"""Handles disks that fail or are full: translates errors of libgit2 and the operating system."""

import contextlib
import ctypes
import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pygit2

from ingot_git.process.errors import RepositoryDamaged, StorageFull

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# git prints the last one for a pack or an index, in place of the system's message.
_FULL_ENDINGS = (*(f": {os.strerror(code)}" for code in _FULL), "' write error. Out of diskspace")
_CHUNK = 1024 * 1024
_LOW_SPACE = 64 * _CHUNK
FEW_REFS = 20
"""Up to this number of refs are flushed one by one; for more, `flush` is faster."""
_LIBC = ctypes.CDLL(None, use_errno=True)


def flush(path: Path) -> None:
    """Flush all written data of the volume of ``path`` to disk (syncfs(2)). Blocks. Raises OSError."""
    with _opened(path) as descriptor:
        if _LIBC.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))


def flush_files(paths: Iterable[Path]) -> None:
    """Flush these files and folders to disk. Blocks. Raises OSError."""
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
    """libgit2 failed during a write. The text may belong to an earlier error."""


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Raise NotWritten for every libgit2 error inside the block, which writes objects."""
    try:
        yield
    except pygit2.GitError as error:
        raise NotWritten(str(error)) from error


@contextlib.contextmanager
def disk_errors(folder: Path | None = None) -> Iterator[None]:
    """Translate errors of libgit2 and the operating system inside the block, which uses files in ``folder``.

    libgit2 sets no error message when it could not write a part of an object: the text belongs to an earlier
    error. So if less than ``_LOW_SPACE`` bytes are free, any error of ``writing`` is treated as a full disk.

    Raises:
        StorageFull: a write failed because the disk is full.
        RepositoryDamaged: libgit2 could not read or write for any other reason.
        OSError: an error of the operating system has any other reason.
    """
    try:
        yield
    except pygit2.GitError as error:
        is_unwritten = isinstance(error, NotWritten) and folder is not None and _is_almost_full(folder)
        if is_unwritten or says_full(str(error)):
            raise StorageFull("the disk is full") from error
        raise RepositoryDamaged(str(error)) from error
    except OSError as error:
        # Errors of libgit2 have no errno: pygit2 passes only the text.
        if error.errno in _FULL or says_full(str(error)):
            raise StorageFull("the disk is full") from error
        raise


def says_full(message: str) -> bool:
    """True if a message of libgit2 or git ends with the text for a full disk.

    Only the end is compared, because text before it may quote user input.
    """
    return message.endswith(_FULL_ENDINGS)


def check_loose_objects(path: Path) -> None:
    """Inflate each loose object once, because libgit2 up to 1.9.7 loops forever on truncated objects.

    Remove this when libgit2 has the fix (its pull request 7346). libgit2 itself detects damage in packs. If
    it crashes on a damaged index, `read_watch` identifies the repository.

    Raises:
        RepositoryDamaged: an object is incomplete; the text contains its id.
    """
    for folder in os.scandir(path / "objects"):
        if len(folder.name) == 2:
            # git removes a folder after it packed its objects.
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
        return True  # it was packed in the meantime
    except zlib.error:
        return False
    return inflater.eof


def _is_almost_full(folder: Path) -> bool:
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize < _LOW_SPACE
