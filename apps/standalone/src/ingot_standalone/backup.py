"""Backups of a data folder, and their restoration. `ingot up` may run on the folder during a backup.

The databases are copied between two passes over the files, so every file of a row is in the backup. Consumers
are copied before their emitters: an event that a consumer has missed is still in the outbox.
"""

import contextlib
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ingot_chassis.clock import now
from ingot_chassis.errors import CannotStart
from ingot_git.storage.backups import (
    UNFINISHED,
    FileCopies,
    FolderCopy,
    alone,
    name_of,
    newest,
    unchanged,
)
from ingot_standalone.data_folder import DataFolder

CONSUMERS_FIRST = ("mail", "hooks", "issues", "repos", "identity")
UPLOADS = ("files", "repositories/files")


def back_up(folder: DataFolder, to: Path) -> Path:
    """Make a backup of ``folder`` in a new folder below ``to``. Return the new folder. Raises CannotStart."""
    to = to.absolute()
    try:
        with alone(to):
            return _back_up(folder, to)
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(f"no backup was made: {error}") from error


def _back_up(folder: DataFolder, to: Path) -> Path:
    for service in CONSUMERS_FIRST:
        if not folder.is_older_than(service):
            folder.existing_database_url(service)
    new = to / UNFINISHED
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    before = newest(to)
    _copy_files(folder.path, new, before)
    copy_databases(folder, new)
    _copy_files(folder.path, new, before)
    for name in ("secrets.json", "public-url"):
        if (folder.path / name).exists():
            shutil.copy2(folder.path / name, new / name)
    os.sync()
    whole = to / name_of(now())
    new.rename(whole)
    return whole


def _copy_files(source: Path, new: Path, before: Path | None) -> None:
    """Copy repositories and uploads in one pass."""
    FolderCopy(
        source / "repositories", new / "repositories", before and before / "repositories"
    ).repositories()
    for name in UPLOADS:
        FolderCopy(source / name, new / name, before and before / name).files()


def keep_databases(folder: DataFolder) -> Path:
    """Copy the databases into the data folder before an upgrade. Return the copy. Raises CannotStart."""
    copies = folder.path / "before-upgrade" / name_of(now())
    try:
        copies.mkdir(mode=0o700, parents=True)
        copy_databases(folder, copies)
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(f"cannot keep the databases before the upgrade: {error}") from error
    return copies


def copy_databases(folder: DataFolder, to: Path) -> None:
    """Copy a snapshot of each database, while other processes write to it. Raises CannotStart for damage."""
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


def restore(source: Path, folder: DataFolder) -> Path:
    """Restore a backup into a new data folder. Return the backup. Raises CannotStart.

    The data folder may exist if it is empty. ``source`` is a backup, or a folder with backups. Then the
    newest backup is restored.
    """
    source = source.absolute()
    backup = source if (source / "secrets.json").is_file() else newest(source)
    if backup is None or not (backup / "secrets.json").is_file():
        raise CannotStart(f"{source} is no backup and has none in it")
    target = folder.path
    if target.exists() and any(target.iterdir()):
        if folder.lock.exists():
            with folder.in_use():  # that Ingot runs on it matters more
                pass
        raise CannotStart(f"{target} is not empty; a backup is restored to a folder that is not there yet")
    unfinished = target.with_name(f".{target.name}{UNFINISHED}")
    try:
        unfinished.mkdir(mode=0o700, parents=True, exist_ok=True)
        with unchanged(backup), _locked(unfinished):
            for entry in unfinished.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            shutil.copytree(backup, unfinished, dirs_exist_ok=True, copy_function=FileCopies().copy)
            unfinished.chmod(0o700)
            os.sync()
            unfinished.rename(target)
    except OSError as error:
        raise CannotStart(f"cannot restore to {target}: {error}") from error
    return backup


@contextlib.contextmanager
def _locked(unfinished: Path) -> Iterator[None]:
    """Lock the folder inside the block. Raises OSError while another process restores into it."""
    descriptor = os.open(unfinished, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError("another backup is being restored to it") from None
        yield
    finally:
        os.close(descriptor)
