"""Views of repositories whose objects are in a folder of their own at first, such as the files that a merge makes for an answer."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pygit2

from ingot_repos.git.disk import flush_files

_FAST = (1, False)
"""The level of compression (with 0 libgit2 writes what it cannot read). `Storage` has everything flushed to the disk."""
_BEFORE_LOOSE = 2
"""The priority of packs. libgit2 writes to the first store that takes objects one by one; those of repositories have 1."""
_PREFIX = "tmp_objdir-scratch-"
"""As git names its own: of a process that died `Storage.sweep` removes it, and git takes it for no object."""
_TRIES = 4
"""To move an object into a folder that a packing may remove meanwhile, because it is empty."""


class ScratchRepository(pygit2.Repository):
    """A repository with its objects and refs; objects that are written to it go to ``folder``."""

    def __init__(self, path: str, folder: Path) -> None:
        super().__init__(path)
        self.folder = folder
        self.odb.add_backend(pygit2.OdbBackendLoose(str(folder), *_FAST), _BEFORE_LOOSE)


def make_folder(repo: pygit2.Repository) -> Path:
    """A folder for scratch repositories of one repository."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=Path(repo.path) / "objects"))


@contextlib.contextmanager
def scratch(repo: pygit2.Repository) -> Iterator[ScratchRepository]:
    """A view of the repository; nothing stays of what is written to it. Blocks."""
    if isinstance(repo, ScratchRepository):
        yield repo
        return
    folder = make_folder(repo)
    try:
        yield ScratchRepository(repo.path, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def staged(repo: pygit2.Repository) -> Iterator[ScratchRepository]:
    """The same, but the repository gets what is written when the block ends; nothing of it when the block raises."""
    with scratch(repo) as view:
        yield view
        if view is not repo:
            _move_objects(view.folder, Path(repo.path) / "objects")


def _move_objects(source: Path, target: Path) -> None:
    """The objects are on the disk already, as all that libgit2 writes, and under their new names when this ends."""
    folders = set[Path]()
    for file in source.glob("??/*"):
        folder = target / file.parent.name
        for _ in range(_TRIES):
            if not folder.exists():
                folder.mkdir(exist_ok=True)
                folders.add(target)
            with contextlib.suppress(FileNotFoundError):
                file.rename(folder / file.name)
                break
        else:
            file.rename(folder / file.name)
        folders.add(folder)
    flush_files(folders)
