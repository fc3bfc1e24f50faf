"""What killed git processes leave inside a repository."""

import contextlib
from pathlib import Path

_PATTERNS = (
    "objects/pack/tmp_*",
    "objects/pack/.tmp*",
    "objects/pack/*.keep",
    "objects/??/tmp_obj_*",
    "*.lock",
    "refs/**/*.lock",
)


def clear_leftovers(path: Path) -> None:
    """Take it away from a repository into which nobody fetches or pushes now. Blocks."""
    for pattern in _PATTERNS:
        for left in path.glob(pattern):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                left.unlink()
