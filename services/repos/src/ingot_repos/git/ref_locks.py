"""Locks of refs that killed processes left: git never removes them, and refuses every change of such a ref for ever."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

OLD_SECONDS = 5.0
"""Whoever lives has the lock of a few refs for milliseconds."""
OLD_SHARED_SECONDS = 60.0
"""The same for what is locked while any number of refs is deleted."""
_SHARED = ("*.lock", "packed-refs.new")
EVERY_LOCK = (*_SHARED, "refs/**/*.lock")
"""Patterns of all that this module is about."""
_NOTES = "refs/notes/**/*.lock"
"""Nothing writes down which of these are moved."""


def are_locked(path: Path, names: Iterable[str]) -> bool:
    """Whether somebody has, or left, the lock of one of these refs, or of what all refs share. Blocks."""
    with contextlib.suppress(OSError):  # a name that is too long to be there
        if any((path / f"{name}.lock").exists() for name in names):
            return True
    with contextlib.suppress(FileNotFoundError):
        names_here = os.listdir(path)  # noqa: PTH208 - a path for each costs more than all else here
        return any(fnmatch(name, pattern) for name in names_here for pattern in _SHARED)
    return False


def remove_old_locks(path: Path, names: Iterable[str], *, least_seconds: float = 0.0) -> int:
    """Remove the old locks of these refs, of notes, and of what all refs share; how many there were. Blocks.

    None that is younger than ``least_seconds`` goes.

    The names are valid full names of refs. Nobody may move very many of them at this time, which takes longer than
    `OLD_SECONDS`. One process of several does this: another would take the lock that a ref has got since for the old one.
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
        with contextlib.suppress(OSError):  # not there, or with a name too long to be there
            if file.stat().st_mtime < time.time() - seconds:
                file.unlink()
                removed += 1
    return removed
