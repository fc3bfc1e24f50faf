"""Views of repositories that write new objects to a separate folder, for example for test merges."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from ingot_git.process.command import clean_environment
from ingot_git.process.disk import flush_files
from ingot_git.storage.object_checks import check_objects

_FAST = (1, False)
"""The compression level (libgit2 cannot read its own level 0) and no fsync: `Storage` flushes."""
_BEFORE_LOOSE = 2
"""The priority of packs. libgit2 writes to the first writable store; repositories have priority 1."""
_PREFIX = "tmp_objdir-scratch-"
"""A name like git's own: `Storage.sweep` removes stale ones, and git does not read them as objects."""
_TRIES = 4
"""Attempts to move an object into a folder that a repack may remove because it is empty."""


class ScratchRepository(pygit2.Repository):
    """A repository whose new objects are written to ``folder``."""

    def __init__(self, path: str, folder: Path) -> None:
        super().__init__(path)
        self.folder = folder
        self._alternate: Path | None = None
        self._roots: list[str] = []
        self.odb.add_backend(pygit2.OdbBackendLoose(str(folder), *_FAST), _BEFORE_LOOSE)

    def add_alternate(self, alternate: Path) -> None:
        """Also read the objects of another repository. ``alternate`` is its folder of objects."""
        self.odb.add_disk_alternate(str(alternate))
        self._alternate = alternate

    def environment(self, config: Sequence[tuple[str, str]] = (), **more: str) -> dict[str, str]:
        """Return the environment of a git process that reads the same objects and writes to ``folder``."""
        stores = [Path(self.path) / "objects", *([] if self._alternate is None else [self._alternate])]
        folders = {
            "GIT_OBJECT_DIRECTORY": str(self.folder),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(map(str, stores)),
        }
        return clean_environment(folders | more, config=config)

    @contextlib.contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Yield an empty temporary folder for files that git needs in addition to objects."""
        with tempfile.TemporaryDirectory(prefix="files-", dir=self.folder) as folder:
            yield Path(folder)

    def keep(self, oid: str) -> None:
        """Mark a commit, so `staged` stores it with all objects that it needs."""
        self._roots.append(oid)

    def move_objects(self) -> None:
        """Move the marked objects to the repository, without other new objects.

        Raises UnsafeObject if a push may not contain an object. In this case no object is moved.
        """
        if self._alternate is not None:
            self._copy_from_alternate()
        check_objects(self, self.folder, self.environment())
        files = [self.folder / _file_of(oid) for oid in self._published_objects()]
        _move_objects(files, Path(self.path) / "objects")

    def _copy_from_alternate(self) -> None:
        """Copy objects that the marked objects need and that only the alternate has.

        Neither git nor libgit2 writes an object that exists in an alternate.
        """
        own, copies = pygit2.Repository(self.path), pygit2.Odb()
        copies.add_backend(pygit2.OdbBackendLoose(str(self.folder), *_FAST), 1)
        visited, waiting = set[str](), list(self._roots)
        while waiting:
            oid = waiting.pop()
            if oid in visited:
                continue
            visited.add(oid)
            if not (self.folder / _file_of(oid)).exists():
                if oid in own:
                    continue
                copies.write(*self.odb.read(oid))
            waiting += _references(self[oid])

    def _published_objects(self) -> Iterator[str]:
        """Yield each marked object after the objects that it references.

        So an object that it references is never missing.
        """
        visited = set[str]()
        waiting = [(oid, False) for oid in self._roots]
        while waiting:
            oid, is_complete = waiting.pop()
            if is_complete:
                yield oid
            elif oid not in visited and (self.folder / _file_of(oid)).exists():
                visited.add(oid)
                waiting.append((oid, True))
                waiting += [(needed, False) for needed in _references(self[oid])]


def _references(one: object) -> list[str]:
    if isinstance(one, pygit2.Commit):
        return [str(oid) for oid in (*one.parent_ids, one.tree_id)]
    if isinstance(one, pygit2.Tree):
        return [str(entry.id) for entry in one if entry.filemode != FileMode.COMMIT]  # not of submodules
    return []


def make_folder(repo: pygit2.Repository) -> Path:
    """Create a folder for scratch repositories of one repository."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=Path(repo.path) / "objects"))


@contextlib.contextmanager
def scratch(repo: pygit2.Repository) -> Iterator[ScratchRepository]:
    """Yield a view of the repository. Discard everything that is written to it. Blocks.

    If ``repo`` is already a view, yield it, and discard nothing.
    """
    if isinstance(repo, ScratchRepository):
        yield repo
        return
    folder = make_folder(repo)
    try:
        yield ScratchRepository(repo.path, folder)
    finally:
        _remove(folder)


@contextlib.contextmanager
def staged(repo: pygit2.Repository) -> Iterator[ScratchRepository]:
    """Yield a view of the repository. Store the marked objects at the end; after an error, store nothing.

    If ``repo`` is already a view, yield it and store nothing: the outer `staged` stores the objects. Raises
    UnsafeObject if a push may not contain an object. In this case nothing is stored either.
    """
    with scratch(repo) as view:
        yield view
        if view is not repo:
            view.move_objects()


def _remove(folder: Path) -> None:
    """Remove the folder of a view. For folders of loose objects this is much faster than shutil.rmtree()."""
    with contextlib.suppress(OSError):
        with os.scandir(folder) as folders:
            for objects in [one.path for one in folders]:
                with os.scandir(objects) as files:
                    for file in [one.path for one in files]:
                        Path(file).unlink()
                Path(objects).rmdir()
        folder.rmdir()
        return
    shutil.rmtree(folder, ignore_errors=True)


def _file_of(oid: str) -> str:
    return f"{oid[:2]}/{oid[2:]}"


def _move_objects(files: list[Path], target: Path) -> None:
    """Move objects that are already flushed, and flush their new directory entries."""
    folders = set[Path]()
    for file in files:
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
