"""Temporary files that killed git processes leave inside a repository."""

import contextlib
import time
from pathlib import Path

from ingot_repos.git.ref_locks import EVERY_LOCK, OLD_SECONDS

_PACKS = ("objects/pack/tmp_*", "objects/pack/.tmp*", "objects/pack/*.keep", "objects/??/tmp_obj_*")
_OLD_PACK_SECONDS = 3600.0
"""Longer than git writes on at a file."""


def remove_temporary_files(path: Path, *, is_idle: bool) -> None:
    """Remove them from a repository into which nobody pushes at this time. Blocks.

    Unless it ``is_idle``, git may be packing it: then only those that are too old to be of that.
    """
    present = time.time()
    for patterns, seconds in ((_PACKS, _OLD_PACK_SECONDS), (EVERY_LOCK, OLD_SECONDS)):
        for file in (file for pattern in patterns for file in path.glob(pattern)):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                if is_idle or file.stat().st_mtime < present - seconds:
                    file.unlink()
