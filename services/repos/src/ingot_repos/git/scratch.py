"""Views of repositories in which nothing stays of what is written, such as the files that a merge makes for an answer."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pygit2

_FAST = (1, False)
"""The level of compression (with 0 libgit2 writes what it cannot read), and whether it is flushed to the disk."""
_BEFORE_LOOSE = 2
"""The priority of packs. libgit2 writes to the first store that takes objects one by one; those of repositories have 1."""
_PREFIX = "tmp_objdir-scratch-"
"""As git names its own: of a process that died `Storage.sweep` removes it, and git takes it for no object."""


class ScratchRepository(pygit2.Repository):
    """A repository as `scratch` yields it."""


@contextlib.contextmanager
def scratch(repo: pygit2.Repository) -> Iterator[pygit2.Repository]:
    """The repository with its objects and refs; objects that are written to it go to a folder of this block. Blocks."""
    if isinstance(repo, ScratchRepository):
        yield repo
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=Path(repo.path) / "objects") as folder:
        view = ScratchRepository(repo.path)
        view.odb.add_backend(pygit2.OdbBackendLoose(folder, *_FAST), _BEFORE_LOOSE)
        yield view
