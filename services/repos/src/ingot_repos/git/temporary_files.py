"""Temporary files that killed git processes leave inside a repository."""

import contextlib
from pathlib import Path

from ingot_repos.git.ref_locks import EVERY_LOCK

_PATTERNS = (
    "objects/pack/tmp_*",
    "objects/pack/.tmp*",
    "objects/pack/*.keep",
    "objects/??/tmp_obj_*",
    *EVERY_LOCK,
)


def remove_temporary_files(path: Path) -> None:
    """Remove them from a repository. Nobody may fetch or push into it at this time. Blocks."""
    for pattern in _PATTERNS:
        for file in path.glob(pattern):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                file.unlink()
