"""Viewed files of a pull request. issues stores them; web uses them to mark files that changed since."""

from typing import Annotated

import msgspec

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
MOST_FILE_VIEWS = 3000
"""Viewed files per person and pull request."""


class ViewFile(msgspec.Struct, kw_only=True):
    """A file to mark as viewed. ``path`` is the SHA-256 of its path.

    ``changes`` is the SHA-256 of the viewed changes; None: mark the file as not viewed.
    """

    path: Sha256
    changes: Sha256 | None = None


class FileViews(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's viewed files: SHA-256 of the viewed changes by SHA-256 of the path."""

    changes: dict[str, str] = {}
