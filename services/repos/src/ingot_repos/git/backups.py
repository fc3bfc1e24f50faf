"""Copies of folders of repositories and of uploads, made while they are used.

A backup is a folder that is named by its time, and is whole from the moment in which it has that name. Files that never change
(objects of git, uploads) are links to the same files in the backup before, so each backup takes the room of what is new. What
forks share with their parent they share in a backup, too, and after its restoration.
Everything here blocks.
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
"""Git removes the index of a pack first: a copy of it says that the rest was there before."""


def name_of(moment: datetime) -> str:
    """The name of a backup that was made at that time, in UTC."""
    return moment.strftime(TIME)


def list_whole(to: Path) -> list[Path]:
    """The whole backups below ``to``, the oldest first."""
    return sorted(path for path in to.glob("[0-9]*Z") if path.is_dir())


def newest(to: Path) -> Path | None:
    """The last of them."""
    return max(list_whole(to), default=None)


@contextlib.contextmanager
def alone(to: Path) -> Iterator[None]:
    """Make the folder and lock it for the block. Raises OSError, also when another backup is being made."""
    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (to / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"another backup to {to} is being made") from None
        yield


@contextlib.contextmanager
def unchanged(backup: Path) -> Iterator[None]:
    """Nobody makes or removes backups beside this one inside the block. Raises OSError while somebody does."""
    with contextlib.ExitStack() as stack:
        # A backup that was copied to another place, or to one that cannot be written, may have no lock beside it.
        with contextlib.suppress(FileNotFoundError):
            lock = stack.enter_context((backup.parent / ".lock").open("rb"))
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OSError(f"a backup to {backup.parent} is being made") from None
        yield


class FileCopies:
    """Copies files: all that are links to one file become links to one copy. Only files that never change may be linked."""

    def __init__(self) -> None:
        self._copies: dict[tuple[int, int, str], str] = {}

    def copy(self, source: str | Path, target: str | Path, earlier: Path | None = None) -> None:
        """Copy a file, or link ``target`` to a copy of the same file, or else to the ``earlier`` copy that is given."""
        source, target = Path(source), Path(target)
        file = source.stat()
        # Once git has removed the file, its inode may become that of another: one with another hash in its name.
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
    """Copies a folder into the one of a backup; what the backup before has is linked."""

    def __init__(self, source: Path, target: Path, before: Path | None) -> None:
        self._source, self._target, self._before = source, target, before
        self._copies = FileCopies()

    def repositories(self) -> None:
        """Copy a folder of storage. A repository that is deleted meanwhile is not in the copy.

        One that moves to another shard meanwhile is: its files stay here for longer than a backup takes.
        """
        for repository in sorted(self._source.glob("repositories/*/*/*.git")):
            self._repository(repository)

    def files(self) -> None:
        """Copy a folder of uploads."""
        for path in self._files_below(self._source):
            with contextlib.suppress(FileNotFoundError):
                self._immutable(path)

    def _repository(self, repository: Path) -> None:
        """Refs before objects, so that each ref has its objects; loose refs before packed ones, which they turn into."""
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
        if not (repository / "HEAD").exists():  # a folder that is gone looks like an empty one
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
        """Copy all packs that are there at one time: what git puts together meanwhile goes from one to another."""
        for _ in range(PASSES_OVER_OBJECTS):
            before = _packs_in(folder)
            with contextlib.suppress(FileNotFoundError):
                for path in before:
                    self._pack(path)
                # A list that is read while packs come and go may lack both the old ones and the new one.
                if _packs_in(folder) == before:
                    return
        raise self._restless()

    def _pack(self, index: Path) -> None:
        for suffix in PACKED:
            path = index.with_suffix(suffix)
            if suffix != ".rev" or path.exists():
                self._immutable(path)

    def _each(self, paths: Callable[[], Iterator[Path]], copy: Callable[[Path], None]) -> None:
        """Copy all ``paths``; look again when one went away, for git has then put it into another file."""
        for _ in range(PASSES_OVER_OBJECTS):
            try:
                for path in paths():
                    copy(path)
            except FileNotFoundError:
                continue
            return
        raise self._restless()

    def _restless(self) -> OSError:
        return OSError(f"files of {self._source} do not hold still")

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
    """Whether it could be done: a file system has no links, or no more for one file, and a copy may be gone."""
    try:
        target.hardlink_to(to)
    except OSError:
        return False
    return True


def _packs_in(folder: Path) -> list[Path]:
    """Their indexes, which git writes last; one without a pack stays of a push of the same pack that git was removing."""
    return sorted(index for index in folder.glob("*.idx") if index.with_suffix(".pack").exists())


def _is_setting(path: Path) -> bool:
    """HEAD, config, packed-refs and the like."""
    return path.is_file() and path.suffix != ".lock"
