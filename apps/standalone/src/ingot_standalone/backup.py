"""Backups of a data folder, also while `ingot up` runs on it, and their restoration.

A backup is a folder that is named by its time, and is whole from the moment in which it has that name. Files that never change
(objects of git, uploads) are links to the same files in the backup before, so each backup takes the room of what is new.

The databases are copied between two passes over the files, those of consumers before those of whom they listen to: what
a row needs is there, and what a consumer has missed is still in the outbox that it comes from.
"""

import contextlib
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from ingot_chassis.db.tables import now
from ingot_chassis.errors import CannotStart
from ingot_standalone.data_folder import DataFolder

UNFINISHED = ".unfinished"
TIME = "%Y-%m-%dT%H-%M-%S-%fZ"
CONSUMERS_FIRST = ("hooks", "issues", "repos", "identity")
PASSES_OVER_OBJECTS = 100
LOOSE = "[0-9a-f][0-9a-f]"
PACKED = ("*.pack", "*.rev", "*.idx")


def back_up(folder: DataFolder, to: Path) -> Path:
    """Make a backup of ``folder`` below ``to``; the folder of the backup. Raises CannotStart."""
    to = to.absolute()
    try:
        to.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(to):
            return _back_up(folder, to)
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(f"no backup was made: {error}") from error


def _back_up(folder: DataFolder, to: Path) -> Path:
    for service in CONSUMERS_FIRST:
        folder.existing_database_url(service)
    new = to / UNFINISHED
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    copy = _Copy(folder.path, new, newest(to))
    copy.files()
    copy_databases(folder, new)
    copy.files()
    for name in ("secrets.json", "public-url"):
        if (folder.path / name).exists():
            shutil.copy2(folder.path / name, new / name)
    os.sync()
    whole = to / now().strftime(TIME)
    new.rename(whole)
    return whole


def keep_databases(folder: DataFolder) -> Path:
    """Copy the databases that are there into the data folder itself, before an upgrade; where. Raises CannotStart."""
    copies = folder.path / "before-upgrade" / now().strftime(TIME)
    try:
        copies.mkdir(mode=0o700, parents=True)
        copy_databases(folder, copies)
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(f"cannot keep the databases before the upgrade: {error}") from error
    return copies


def copy_databases(folder: DataFolder, to: Path) -> None:
    """Copy each database as it is at one moment, while others write to it."""
    for service in CONSUMERS_FIRST:
        file = folder.database_file(service)
        if not file.exists():
            continue
        with (
            contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=30)) as source,
            contextlib.closing(sqlite3.connect(to / file.name)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")  # one file, without the two of a database in use
            (result,) = target.execute("PRAGMA quick_check(1)").fetchone()
            if result != "ok":
                raise CannotStart(f"no backup was made: {file} is damaged: {result}")


def newest(to: Path) -> Path | None:
    """The last whole backup below ``to``."""
    return max((path for path in to.glob("[0-9]*Z") if path.is_dir()), default=None)


def restore(source: Path, folder: DataFolder) -> Path:
    """Put a backup in the place of a data folder that is not there; the backup that it was. Raises CannotStart.

    ``source`` is a backup, or a folder with backups, of which the newest is taken.
    """
    source = source.absolute()
    backup = source if (source / "secrets.json").is_file() else newest(source)
    if backup is None or not (backup / "secrets.json").is_file():
        raise CannotStart(f"{source} is no backup and has none in it")
    target = folder.path
    if target.exists() and any(target.iterdir()):
        raise CannotStart(f"{target} is not empty; a backup is restored to a folder that is not there yet")
    unfinished = target.with_name(f".{target.name}{UNFINISHED}")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(backup, unfinished)
        unfinished.chmod(0o700)
        os.sync()
        unfinished.rename(target)
    except OSError as error:
        raise CannotStart(f"cannot restore to {target}: {error}") from error
    return backup


@contextlib.contextmanager
def _alone(to: Path) -> Iterator[None]:
    with (to / ".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotStart(f"another backup to {to} is being made") from None
        yield


class _Copy:
    """Copies repositories and uploads of a data folder; what the backup before has is linked."""

    def __init__(self, source: Path, target: Path, before: Path | None) -> None:
        self._source, self._target, self._before = source, target, before

    def files(self) -> None:
        """One pass. A repository or an upload that was removed since the pass before stays as it was then."""
        for repository in sorted(self._source.glob("repositories/repositories/*/*/*.git")):
            with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
                self._repository(repository)
        for folder in ("files", "repositories/files"):
            for path in self._files_below(self._source / folder):
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
        if not (repository / "HEAD").exists():  # it is being deleted
            shutil.rmtree(staged)
            return
        for folder in ("pack", "info"):
            (target / "objects" / folder).mkdir(parents=True, exist_ok=True)
        self._each(lambda: (repository / "objects").glob(f"{LOOSE}/[0-9a-f]*"), self._immutable)
        self._each(lambda: self._packs(repository / "objects" / "pack"), self._immutable)
        for entry in target.iterdir():
            if entry.name != "objects":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for entry in staged.iterdir():
            entry.rename(target / entry.name)
        staged.rmdir()

    def _packs(self, folder: Path) -> Iterator[Path]:
        for pattern in PACKED:
            yield from folder.glob(pattern)

    def _each(self, paths: Callable[[], Iterator[Path]], copy: Callable[[Path], None]) -> None:
        """Copy all ``paths``; look again when one went away, for git has then put it into another file."""
        for _ in range(PASSES_OVER_OBJECTS):
            try:
                for path in paths():
                    copy(path)
            except FileNotFoundError:
                continue
            return
        raise OSError(f"files of {self._source} do not hold still")

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
        if earlier and earlier.exists() and earlier.stat().st_size == path.stat().st_size:
            with contextlib.suppress(OSError):  # a file system without links
                target.hardlink_to(earlier)
                return
        copied = target.with_name(f"{target.name}.copy")
        shutil.copy2(path, copied)
        copied.rename(target)


def _is_setting(path: Path) -> bool:
    """HEAD, config, packed-refs and the like."""
    return path.is_file() and path.suffix != ".lock"
