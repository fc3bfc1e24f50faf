"""Locks of refs that killed processes left: git never removes them, and refuses every change of such a ref for ever."""

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

OLD_SECONDS = 5.0
"""Whoever lives has the lock of a few refs for milliseconds."""
SHARED = ("packed-refs", "HEAD")
"""What is locked beside the refs when some are deleted."""


def remove_old_locks(path: Path, names: Iterable[str]) -> int:
    """Remove the old locks of these full names of refs; how many there were. Blocks.

    Nobody may move very many of them at this time, which takes longer than `OLD_SECONDS`.
    """
    removed = 0
    for name in names:
        lock = path / f"{name}.lock"
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if lock.stat().st_mtime < time.time() - OLD_SECONDS:
                lock.unlink()
                removed += 1
    return removed
