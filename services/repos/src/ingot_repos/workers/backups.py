"""`ingot-repos backup` and `restore`: the files of one shard, beside what was made of the databases before.

The databases are dumped first, by whoever starts this: what a row needs is there. Uploads come last. Refs that moved in between
are announced by `ingot-repos doctor --repair` after a restoration.
"""

import asyncio
import os
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ingot_chassis.clock import now
from ingot_chassis.errors import CannotStart
from ingot_repos.git.backups import (
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
DUMPS = tuple(f"{service}.dump" for service in ("identity", "repos", "issues", "hooks"))


def add_backup_options(parser: ArgumentParser) -> None:
    """Of `backup`."""
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="where backups are")
    parser.add_argument(
        "--databases",
        type=Path,
        metavar="FOLDER",
        help=f"{', '.join(DUMPS)} of just before, on the same file system: moved into the backup",
    )
    parser.add_argument("--keep", type=int, default=0, metavar="N", help="remove all but the last N; 0: none")


def add_restore_options(parser: ArgumentParser) -> None:
    """Of `restore`."""
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="a backup, or the folder of them: the newest",
    )
    parser.add_argument(
        "--replace", action="store_true", help="set repositories that are there aside, for two days"
    )


async def back_up(settings: Settings, options: Namespace) -> None:
    """Copy what the shard has, also while it is used, and print where. Raises CannotStart."""
    to, databases = options.to.absolute(), options.databases
    print(await asyncio.to_thread(_back_up, settings, to, databases, options.keep))  # noqa: T201 - asked for


async def restore(settings: Settings, options: Namespace) -> None:
    """Put a backup in the place of what the shard has, and print which. No process may serve it. Raises CannotStart."""
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
    """Only under the lock: nobody else moves or removes what is in the backup then."""
    for name in DUMPS:
        if (databases / name).stat().st_size == 0:
            raise OSError(f"{databases / name} is empty")
    databases.rename(target)


def _restore(settings: Settings, source: Path, replace: bool) -> Path:
    backup = source if (source / REPOSITORIES).is_dir() else newest(source)
    if backup is None or not (backup / REPOSITORIES).is_dir():
        raise CannotStart(f"{source} is no backup and has none in it")
    folders = _folders(settings)
    present = folders[REPOSITORIES] / "repositories"
    if any(present.glob("*/*/*.git")) and not replace:
        raise CannotStart(f"{folders[REPOSITORIES]} has repositories; `--replace` sets them aside")
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
    """What belongs to the shard: git, and uploads unless those are in S3-compatible storage."""
    root = Path(settings.storage_root)
    url = urlsplit(settings.objects_url or (root / "files").as_uri())
    return {REPOSITORIES: root} | ({FILES: Path(unquote(url.path))} if url.scheme == "file" else {})
