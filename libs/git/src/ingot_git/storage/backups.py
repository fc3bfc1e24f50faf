"""Backups of the folders of repositories and uploads, made while they are in use.

A backup is a folder named after its time. It gets this name only when it is complete. Files that never change
(git objects, uploads) are hard links to the same files in the previous backup. So each backup needs space
only for new files. Forks share files with their parent in a backup, and after its restoration, too.

All functions block.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

UNFINISHED = ".unfinished"
TIME = "%Y-%m-%dT%H-%M-%S-%fZ"
PASSES_OVER_OBJECTS = 100
LOOSE = "[0-9a-f][0-9a-f]"
PACKED = (".pack", ".rev", ".idx")
"""Suffixes of pack files in the order of copying. The index is last: a copied index implies the rest."""


def name_of(moment: datetime) -> str:
    """Return the name of a backup made at this time, in UTC."""
    return moment.strftime(TIME)


def list_whole(to: Path) -> list[Path]:
    """Return the paths of the complete backups below ``to``, the oldest first."""
    return sorted(path for path in to.glob("[0-9]*Z") if path.is_dir())


def newest(to: Path) -> Path | None:
    """Return the path of the latest complete backup below ``to``, or None."""
    return max(list_whole(to), default=None)


@contextlib.contextmanager
def alone(to: Path) -> Iterator[None]:
    """Create the folder of backups, and lock it inside the block. Raises OSError if a backup is running."""
    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (to / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"another backup to {to} is being made") from None
        yield


@contextlib.contextmanager
def unchanged(backup: Path) -> Iterator[None]:
    """Prevent other backups in the same folder from being created or removed inside the block.

    Raises OSError if a backup is running.
    """
    with contextlib.ExitStack() as stack:
        # A backup that was copied elsewhere, or to a read-only folder, may have no lock file.
        with contextlib.suppress(FileNotFoundError):
            lock = stack.enter_context((backup.parent / ".lock").open("rb"))
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OSError(f"a backup to {backup.parent} is being made") from None
        yield


class FileCopies:
    """Copies files and keeps hard links: links to one file become links to one copy.

    Files with hard links must never change.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, int, str], str] = {}

    def copy(self, source: str | Path, target: str | Path, earlier: Path | None = None) -> None:
        """Copy a file to ``target``, or link ``target`` to an existing copy.

        An existing copy is the copy of another link to the file, or ``earlier``, its copy in the previous
        backup.
        """
        source, target = Path(source), Path(target)
        file = source.stat()
        # After git removed a file, a file with another hash in its name may get the same inode.
        key = file.st_dev, file.st_ino, source.name
        linked = self._copies.get(key)
        if linked is not None and _link(target, linked):
            return
        if earlier is None or not _link(target, earlier):
            copied = target.with_name(f"{target.name}.copy")
            shutil.copy2(source, copied)
            copied.rename(target)
        if file.st_nlink > 1:
            self._copies[key] = str(target)


class FolderCopy:
    """Copies a folder into a backup, and links files that the previous backup has."""

    def __init__(self, source: Path, target: Path, before: Path | None) -> None:
        self._source, self._target, self._before = source, target, before
        self._copies = FileCopies()

    def repositories(self) -> None:
        """Copy a folder with all repositories. Repositories that are deleted during the copy are skipped.

        Repositories that move to another shard are copied: their files stay longer than a backup takes.
        Raises OSError if files change too often.
        """
        for repository in sorted(self._source.glob("repositories/*/*/*.git")):
            self._repository(repository)

    def files(self) -> None:
        """Copy a folder of uploads."""
        for path in self._files_below(self._source):
            with contextlib.suppress(FileNotFoundError):
                self._immutable(path)

    def _repository(self, repository: Path) -> None:
        """Copy a repository: first loose refs, then packed-refs, then objects. So each ref has its objects.

        Loose refs come first, because a loose ref may move into packed-refs during the copy.
        """
        target = self._at(repository)
        staged = target.with_name(f"{target.name}.staged")
        shutil.rmtree(staged, ignore_errors=True)

        def stage(path: Path) -> None:
            copied = staged / path.relative_to(repository)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copied)

        (staged / "refs").mkdir(parents=True)
        self._each(lambda: self._files_below(repository / "refs"), stage)
        self._each(lambda: (path for path in repository.glob("[!.]*") if _is_setting(path)), stage)
        for folder in ("pack", "info"):
            (target / "objects" / folder).mkdir(parents=True, exist_ok=True)
        self._each(lambda: (repository / "objects").glob(f"{LOOSE}/[0-9a-f]*"), self._immutable)
        self._packs(repository / "objects" / "pack")
        if not (repository / "HEAD").exists():  # a deleted folder looks like an empty one
            shutil.rmtree(staged)
            shutil.rmtree(target)
            return
        for entry in target.iterdir():
            if entry.name != "objects":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for entry in staged.iterdir():
            entry.rename(target / entry.name)
        staged.rmdir()

    def _packs(self, folder: Path) -> None:
        """Copy all packs that exist at the same moment, because a repack moves objects between packs."""
        for _ in range(PASSES_OVER_OBJECTS):
            before = _packs_in(folder)
            with contextlib.suppress(FileNotFoundError):
                for path in before:
                    self._pack(path)
                # A list that is read during a repack may lack both the old packs and the new one.
                if _packs_in(folder) == before:
                    return
        raise self._unstable()

    def _pack(self, index: Path) -> None:
        for suffix in PACKED:
            path = index.with_suffix(suffix)
            if suffix != ".rev" or path.exists():
                self._immutable(path)

    def _each(self, paths: Callable[[], Iterator[Path]], copy: Callable[[Path], None]) -> None:
        """Copy all ``paths``. Repeat if a file disappeared, because git moves content between files."""
        for _ in range(PASSES_OVER_OBJECTS):
            try:
                for path in paths():
                    copy(path)
            except FileNotFoundError:
                continue
            return
        raise self._unstable()

    def _unstable(self) -> OSError:
        return OSError(f"files of {self._source} change too often to copy; run the backup again")

    def _files_below(self, folder: Path) -> Iterator[Path]:
        for top, _, names in os.walk(folder):
            yield from (Path(top, name) for name in names if not name.endswith(".lock"))

    def _at(self, path: Path) -> Path:
        return self._target / path.relative_to(self._source)

    def _immutable(self, path: Path) -> None:
        target = self._at(path)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        earlier = self._before and self._before / path.relative_to(self._source)
        if earlier and not (earlier.exists() and earlier.stat().st_size == path.stat().st_size):
            earlier = None
        self._copies.copy(path, target, earlier)


def _link(target: Path, to: str | Path) -> bool:
    """Create a hard link. Return False if the file system supports none, or ``to`` no longer exists."""
    try:
        target.hardlink_to(to)
    except OSError:
        return False
    return True


def _packs_in(folder: Path) -> list[Path]:
    """Return the indexes of complete packs. git writes the index of a pack last.

    An index without a pack is omitted. It remains when git removes a pack that is pushed again at the same
    time.
    """
    return sorted(index for index in folder.glob("*.idx") if index.with_suffix(".pack").exists())


def _is_setting(path: Path) -> bool:
    """True for HEAD, config, packed-refs and similar files."""
    return path.is_file() and path.suffix != ".lock"
