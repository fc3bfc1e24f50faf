"""`ingot-repos backup` and `restore`: the files of one shard, stored next to database dumps.

The operator dumps the databases first, so the files contain everything that the rows need. Uploads are copied
last. Refs that moved between dump and copy are announced by `ingot-repos doctor --repair` after a restore.
"""

import asyncio
import os
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ingot_chassis.clock import now
from ingot_chassis.errors import CannotStart
from ingot_git.storage.backups import (
    UNFINISHED,
    FileCopies,
    FolderCopy,
    alone,
    list_whole,
    name_of,
    newest,
    unchanged,
)
from ingot_repos.settings import Settings

DATABASES, REPOSITORIES, FILES = "databases", "repositories", "files"
DUMPS = tuple(f"{service}.dump" for service in ("identity", "repos", "issues", "hooks", "mail"))


def add_backup_options(parser: ArgumentParser) -> None:
    """Add the command line options of `backup`."""
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="where backups are")
    parser.add_argument(
        "--databases",
        type=Path,
        metavar="FOLDER",
        help=f"{', '.join(DUMPS)} made just before, on the same file system; they are moved into the backup",
    )
    parser.add_argument("--keep", type=int, default=0, metavar="N", help="remove all but the last N; 0: none")


def add_restore_options(parser: ArgumentParser) -> None:
    """Add the command line options of `restore`."""
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="a backup, or the folder of them: the newest",
    )
    parser.add_argument(
        "--replace", action="store_true", help="move existing repositories to the trash for two days"
    )


async def back_up(settings: Settings, options: Namespace) -> None:
    """Copy the files of the shard and print the path of the backup. Raises CannotStart.

    The shard may be in use.
    """
    to, databases = options.to.absolute(), options.databases
    print(await asyncio.to_thread(_back_up, settings, to, databases, options.keep))  # noqa: T201 - asked for


async def restore(settings: Settings, options: Namespace) -> None:
    """Replace the files of the shard with a backup and print its path. Raises CannotStart.

    No process may serve the shard.
    """
    source, replace = options.source.absolute(), options.replace
    print(await asyncio.to_thread(_restore, settings, source, replace))  # noqa: T201 - asked for


def _back_up(settings: Settings, to: Path, databases: Path | None, keep: int) -> Path:
    try:
        with alone(to):
            new, before = to / UNFINISHED, newest(to)
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(mode=0o700)
            if databases is not None:
                _take_dumps(databases, new / DATABASES)
            for name, folder in _folders(settings).items():
                copy = FolderCopy(folder, new / name, before and before / name)
                copy.repositories() if name == REPOSITORIES else copy.files()
            os.sync()
            whole = to / name_of(now())
            new.rename(whole)
            for old in list_whole(to)[:-keep] if keep > 0 else ():
                shutil.rmtree(old)
    except OSError as error:
        raise CannotStart(f"no backup was made: {error}") from error
    return whole


def _take_dumps(databases: Path, target: Path) -> None:
    """Move the dumps into the backup. The caller must hold the lock of the backups.

    Raises OSError if a dump is missing or empty.
    """
    for name in DUMPS:
        if (databases / name).stat().st_size == 0:
            raise OSError(f"{databases / name} is empty")
    databases.rename(target)


def _restore(settings: Settings, source: Path, replace: bool) -> Path:
    backup = source if (source / REPOSITORIES).is_dir() else newest(source)
    if backup is None or not (backup / REPOSITORIES).is_dir():
        raise CannotStart(f"{source} is not a backup and contains none")
    folders = _folders(settings)
    present = folders[REPOSITORIES] / "repositories"
    if any(present.glob("*/*/*.git")) and not replace:
        raise CannotStart(f"{folders[REPOSITORIES]} has repositories; `--replace` moves them to the trash")
    try:
        with unchanged(backup):
            if present.exists():
                old = folders[REPOSITORIES] / "trash" / f"replaced-{name_of(now())}"
                old.parent.mkdir(exist_ok=True)
                present.rename(old)
                os.utime(old)
            for name, folder in folders.items():
                if (backup / name).is_dir():
                    copy = FileCopies().copy
                    shutil.copytree(backup / name, folder, dirs_exist_ok=True, copy_function=copy)
            os.sync()
    except OSError as error:
        raise CannotStart(f"cannot restore {backup}: {error}") from error
    return backup


def _folders(settings: Settings) -> dict[str, Path]:
    """Return the folders of the shard: git, and uploads unless they are in S3-compatible storage."""
    root = Path(settings.storage_root)
    url = urlsplit(settings.objects_url or (root / "files").as_uri())
    return {REPOSITORIES: root} | ({FILES: Path(unquote(url.path))} if url.scheme == "file" else {})
