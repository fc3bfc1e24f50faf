"""Removes stale locks of refs, which remain after a process was killed. git never removes them.

A stale lock blocks every change of its ref forever.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

OLD_SECONDS = 5.0
"""Age of a stale lock of one ref. A live process holds the locks of a few refs for milliseconds."""
OLD_SHARED_SECONDS = 60.0
"""Age of a stale shared lock. A live process may hold it while it deletes many refs."""
_SHARED = ("*.lock", "packed-refs.new")
EVERY_LOCK = (*_SHARED, "refs/**/*.lock")
"""Patterns of all locks that this module handles."""
_NOTES = "refs/notes/**/*.lock"
"""Notes are always checked, because callers do not list the notes that move."""


def are_locked(path: Path, names: Iterable[str]) -> bool:
    """True if one of these refs is locked, or a file that all refs share. Blocks."""
    with contextlib.suppress(OSError):  # a name is too long for a file
        if any((path / f"{name}.lock").exists() for name in names):
            return True
    with contextlib.suppress(FileNotFoundError):
        names_here = os.listdir(path)  # noqa: PTH208 - a Path for each costs more than all else here
        return any(fnmatch(name, pattern) for name in names_here for pattern in _SHARED)
    return False


def remove_old_locks(path: Path, names: Iterable[str], *, least_seconds: float = 0.0) -> int:
    """Remove stale locks of these refs, of notes and of shared files. Return how many. Blocks.

    Locks younger than ``least_seconds`` are kept. ``names`` are valid full names of refs.

    While this runs, no process may move very many refs, which takes longer than `OLD_SECONDS`. Only one
    process removes locks at a time: a second one could remove a new lock that replaced a stale one. If
    another process removes locks, return 0.
    """
    with contextlib.ExitStack() as stack:
        try:
            repository = stack.enter_context((path / "HEAD").open("rb+"))
            fcntl.flock(repository, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, FileNotFoundError):
            return 0
        own = [*(path / f"{name}.lock" for name in names), *path.glob(_NOTES)]
        shared = [file for pattern in _SHARED for file in path.glob(pattern)]
        removed = _remove(own, max(OLD_SECONDS, least_seconds))
        return removed + _remove(shared, max(OLD_SHARED_SECONDS, least_seconds))


def _remove(files: Iterable[Path], seconds: float) -> int:
    removed = 0
    for file in files:
        with contextlib.suppress(OSError):  # it does not exist, or its name is too long
            if file.stat().st_mtime < time.time() - seconds:
                file.unlink()
                removed += 1
    return removed
