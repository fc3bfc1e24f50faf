"""Files of a pull request that somebody has looked at, as web keeps them in issues: a page tells changed ones apart."""

from typing import Annotated

import msgspec

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
MOST_FILE_VIEWS = 3000
"""Of one person in one pull request."""


class ViewFile(msgspec.Struct, kw_only=True):
    """``path`` is the SHA-256 of the path, ``changes`` that of the changes that were looked at; None: they were not."""

    path: Sha256
    changes: Sha256 | None = None


class FileViews(msgspec.Struct, frozen=True, kw_only=True):
    """By the SHA-256 of its path, that of the changes of each file that the caller has looked at."""

    changes: dict[str, str] = {}
