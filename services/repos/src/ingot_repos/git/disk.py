"""Disks that fail or are full: what libgit2, git and the system say of it, as errors of this room."""

import contextlib
import errno
import os
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path

import pygit2

from ingot_repos.git.errors import GitFailed, RepositoryDamaged, StorageFull

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_IN_WORDS = (*(os.strerror(code) for code in _FULL), f"died of signal {int(signal.SIGXFSZ)}")
_CHUNK = 1024 * 1024


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """Let no error of libgit2 out of the block.

    Raises:
        StorageFull: something could not be written for want of room.
        RepositoryDamaged: libgit2 could not read or write for any other reason.
    """
    try:
        yield
    except pygit2.GitError as error:
        raise _in_our_words(error) from error
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull("no room on the disk") from error
        raise


def git_failure(exit_code: int, stderr: str) -> GitFailed | StorageFull:
    """What the end of a git process with another code than 0 means."""
    if exit_code == -signal.SIGXFSZ or _speaks_of_no_room(stderr):
        return StorageFull("no room on the disk")
    return GitFailed(exit_code, stderr)


def check_loose_objects(path: Path) -> None:
    """Inflate each loose object once, as libgit2 up to 1.9.7 never ends on one that is cut short.

    Its mend (libgit2 pull request 7346) makes this superfluous. Packs need none: they carry checksums.

    Raises:
        RepositoryDamaged: one of them is not whole; its text has the id.
    """
    for folder in os.scandir(path / "objects"):
        if len(folder.name) == 2:
            for file in os.scandir(folder):
                if len(file.name) == 38 and not _is_whole(Path(file.path)):
                    raise RepositoryDamaged(f"object {folder.name}{file.name} is broken")


def _is_whole(file: Path) -> bool:
    inflating = zlib.decompressobj()
    try:
        with file.open("rb") as raw:
            while not inflating.eof and (chunk := raw.read(_CHUNK)):
                while chunk and not inflating.eof:
                    inflating.decompress(chunk, _CHUNK)
                    chunk = inflating.unconsumed_tail
    except FileNotFoundError:
        return True  # it went into a pack meanwhile
    except zlib.error:
        return False
    return inflating.eof


def _in_our_words(error: pygit2.GitError) -> RepositoryDamaged | StorageFull:
    if _speaks_of_no_room(str(error)):
        return StorageFull("no room on the disk")
    return RepositoryDamaged(str(error))


def _speaks_of_no_room(text: str) -> bool:
    return any(words in text for words in _FULL_IN_WORDS)
