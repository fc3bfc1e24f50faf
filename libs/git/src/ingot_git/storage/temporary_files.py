"""Temporary files that killed processes leave in a repository, and their removal."""

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

from ingot_git.refs.ref_locks import EVERY_LOCK, remove_old_locks
from ingot_git.storage.packs import LOCKS as PACK_LOCKS
from ingot_git.storage.packs import repack_lock

_PACKS = ("objects/pack/tmp_*", "objects/pack/.tmp*", "objects/pack/*.keep", "objects/??/tmp_obj_*")
_OF_LIBGIT2 = "objects/tmp_object_git2_*"
"""Objects that libgit2 writes, even without a push."""
_OLD_PACK_SECONDS = 3600.0
"""Longer than git writes to one file."""
ABANDONED_SECONDS = 2 * 3600.0
"""Seconds: twice the time limit of git."""


def list_abandoned_locks(path: Path) -> list[str]:
    """Return the paths of stale locks, relative to the repository at ``path``. Blocks."""
    newest = time.time() - ABANDONED_SECONDS
    names = []
    for file in (file for pattern in (*EVERY_LOCK, *PACK_LOCKS) for file in path.glob(pattern)):
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_mtime < newest:
                names.append(str(file.relative_to(path)))
    return sorted(names)


def remove_abandoned_locks(path: Path) -> None:
    """Remove stale locks, unless another process is removing locks or repacking. Blocks."""
    refs = [name.removesuffix(".lock") for name in list_abandoned_locks(path) if name.startswith("refs/")]
    remove_old_locks(path, refs, least_seconds=ABANDONED_SECONDS)
    with repack_lock(path) as is_idle:
        if is_idle:
            _remove(path, PACK_LOCKS, ABANDONED_SECONDS)


def remove_old_temporary_files(path: Path) -> None:
    """Remove stale temporary files from a repository that may be in use. Blocks."""
    _remove(path, (*_PACKS, _OF_LIBGIT2), _OLD_PACK_SECONDS)


def remove_temporary_files(path: Path, *, lock_seconds: float = 0.0) -> None:
    """Remove temporary files from a repository without running pushes. Blocks.

    Temporary packs of a running repack, and locks younger than ``lock_seconds``, are kept.
    """
    with repack_lock(path) as is_idle:
        _remove(path, _PACKS, 0.0 if is_idle else _OLD_PACK_SECONDS)
    _remove(path, EVERY_LOCK, lock_seconds)


def _remove(path: Path, patterns: Iterable[str], seconds: float) -> None:
    newest = time.time() - seconds
    for file in (file for pattern in patterns for file in path.glob(pattern)):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            if not seconds or file.stat().st_mtime < newest:
                file.unlink()
