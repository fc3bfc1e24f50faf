"""The paths of repositories on disk, and their creation and deletion.

A path depends only on the integer id, so renames and transfers move no files. A repository at its final path
is always complete: it is built in `staging/` and then renamed. A deleted repository is first renamed into
`trash/`.

So a process that dies leaves files in these two folders, but no incomplete repository. These files are
removed by `sweep`, and by the next creation or deletion of the same repository.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import pygit2
from cachetools import LRUCache
from pygit2.enums import ConfigLevel, ObjectType

from ingot_git.process.disk import check_loose_objects, disk_errors, flush_files
from ingot_git.process.errors import (
    InvalidName,
    ObjectNotFound,
    RefNotFound,
    RepositoryDamaged,
    RepositoryExists,
    RepositoryNotFound,
    RepositorySuspect,
)
from ingot_git.refs.refs import BRANCHES, default_branch, is_valid_ref_name
from ingot_git.storage.copies import check_connectivity, read_refs
from ingot_git.storage.forks import copy_history
from ingot_git.storage.object_checks import check_repository
from ingot_git.storage.read_watch import ReadWatch
from ingot_git.storage.temporary_files import remove_temporary_files

_P = ParamSpec("_P")
_T = TypeVar("_T")

# gitrepository-layout(5): everything that a bare repository needs, without hooks and samples.
_FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags")
_OWN_FILES = ("HEAD", "config", "packed-refs")
"""Files that this package writes itself."""
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_CACHED_TREE_BYTES = 256 * 1024
_CACHE_BYTES = 64 * 1024 * 1024
# Part of names on disk: an import that continues after an update must find its folder.
_IMPORT_SUFFIX = ".filling"
_COPY_PREFIX = "adopted-"
_ARCHIVE_PREFIX = "archive-"
_SOME_BRANCH = "main"
_DROPPED_NAME = re.compile(r"[A-Za-z0-9_.-]+")
# Folders of git for the objects of a running push, and for repacks; they remain when git is killed.
_TEMPORARY = "tmp_objdir-"
_LONGEST_PUSH_SECONDS = 2 * 3600.0
# Longer than any running job: a fetch from a remote ends after a day.
_ABANDONED_SECONDS = 2 * 86400.0
# A repack removes empty folders of objects, even a folder that libgit2 just created for an object.
_FOLDER_REMOVED = re.compile(r"failed to rename lockfile to '.*/objects/[0-9a-f]{2}/")
_REPETITIONS = 4
_MISSING_FILE_ERRORS = (OSError, KeyError, pygit2.GitError, ObjectNotFound, RefNotFound, RepositoryDamaged)
"""Errors for files that are missing or not as expected."""
_PACKS_CHANGE_SECONDS = 1.0


def _isolate_libgit2() -> None:
    """Hide the configuration of the machine from libgit2, like `command` does for git. Set its limits."""
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL, ConfigLevel.PROGRAMDATA):
        pygit2.settings.search_path[level] = ""
    pygit2.settings.owner_validation = False
    # A merge that was confirmed must survive a power failure.
    pygit2.settings.enable_fsync_gitdir(True)
    # As in git: zlib's checksum finds a damaged object, and pushes and git-fsck(1) compare its id. To hash each
    # object again took two thirds of the time of a walk through large folders.
    pygit2.settings.enable_strict_hash_verification(False)
    # By default trees above 4 KiB are parsed again each time. The cache is limited for the whole process.
    pygit2.settings.cache_object_limit(ObjectType.TREE, _CACHED_TREE_BYTES)
    pygit2.settings.cache_max_size(_CACHE_BYTES)


_isolate_libgit2()


class _OpenRepository(NamedTuple):
    """An open repository of a thread, and the inode of its folder when it was opened."""

    path: str
    inode: int
    repo: pygit2.Repository


class StagedCopy(NamedTuple):
    """A copy in `staging/`. ``head`` is the default branch of its source, which may not exist."""

    path: Path
    head: str
    branches: frozenset[str]


class Storage:
    """The repositories of one volume.

    `open` caches per thread: two threads must not use the same libgit2 object at once. So a repository, and
    everything read from it, stays in the thread that opened it. Coroutines use `call`. All methods may be
    called from any thread.

    Args:
        root: the volume's folder; created if it is missing.
        open_per_thread: maximum number of open repositories per thread.
        threads: maximum number of concurrent `call`s; further calls wait.
    """

    def __init__(self, root: Path, *, open_per_thread: int = 32, threads: int = 8) -> None:
        self.root = root.resolve()
        self._staging = self.root / "staging"
        self._trash = self.root / "trash"
        self._open_per_thread = open_per_thread
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="git-call")
        self.watch = ReadWatch(self.root, reads=2 * threads)  # a call may read two repositories
        self._deletions = 0
        self._checked: set[int] = set()
        self._dropped = self.root / "unadopted"
        for folder in (self._staging, self._trash, self._dropped):
            folder.mkdir(parents=True, exist_ok=True)

    def path(self, repo_id: int) -> Path:
        """Return the path of the repository with this id, existing or not: `repositories/ab/cd/<id>.git`."""
        if repo_id <= 0:
            raise InvalidName("not a repository id")
        # Hashing keeps every folder small for any number of repositories.
        digest = hashlib.sha256(str(repo_id).encode()).hexdigest()
        return self.root / "repositories" / digest[:2] / digest[2:4] / f"{repo_id}.git"

    def exists(self, repo_id: int) -> bool:
        return (self.path(repo_id) / "HEAD").is_file()

    def create(self, repo_id: int, head: str) -> Path:
        """Create an empty bare repository (SHA-1) whose HEAD names the branch `head`, its default branch.

        Raises:
            RepositoryExists: the id is in use.
            InvalidName: ``head`` is not a branch name.
        """
        if not is_valid_ref_name(head):
            raise InvalidName("not a branch name")
        with self._staging_folder(repo_id) as path:
            _make_folders(path)
            _write_settings(path, head)
            return self._publish(path, repo_id)

    def fork(self, source_id: int, target_id: int) -> Path:
        """Copy branches, tags and HEAD of a repository, but no other refs such as refs/pull/. Blocks.

        Only the objects of branches and tags are copied (see `forks.copy_history`). Afterwards the
        repositories are independent. An existing target is not changed.

        Raises:
            RepositoryNotFound: the source does not exist.
            RepositoryDamaged, GitFailed, GitTimedOut: the copy failed; the target does not exist.
        """
        target = self.path(target_id)
        self.clear(target_id)
        if self.exists(target_id):
            return target
        head = default_branch(self.open(source_id))
        with self._staging_folder(target_id) as path:
            _make_folders(path)
            _write_settings(path, head)
            copy_history(self.path(source_id), path)
            with contextlib.suppress(RepositoryExists):
                self._publish(path, target_id)
        return target

    def import_staging(self, repo_id: int, head: str) -> Path:
        """Return the bare repository in `staging/` for an import. `publish_import` ends the import.

        The path is always the same: if the process dies, the next process continues the import. Blocks.

        Raises:
            InvalidName: ``head`` is not a branch name.
        """
        if not is_valid_ref_name(head):
            raise InvalidName("not a branch name")
        folder = self._import_folder(repo_id)
        path = folder / "repository.git"
        _make_folders(path)
        _write_settings(path, head)
        os.utime(folder)
        remove_temporary_files(path)
        return path

    def archive_folder(self, name: str) -> Path:
        """Return the folder in `staging/` of an archive that is written or imported. Blocks.

        `sweep` removes it two days after the last call.
        """
        folder = self._staging / f"{_ARCHIVE_PREFIX}{name}"
        folder.mkdir(exist_ok=True)
        os.utime(folder)
        return folder

    def discard_archive(self, name: str) -> None:
        """Remove the folder of an archive. The folder may be missing. Blocks."""
        shutil.rmtree(self._staging / f"{_ARCHIVE_PREFIX}{name}", ignore_errors=True)

    def publish_import(self, repo_id: int, head: str) -> None:
        """Move an imported repository to its final path and set HEAD to the branch `head`. Blocks.

        Raises:
            RepositoryExists: the repository exists already.
        """
        path = self._import_folder(repo_id) / "repository.git"
        _write_settings(path, head)
        self._publish(path, repo_id)

    def dropped(self) -> list[tuple[str, str]]:
        """Return owner and name of each repository that operators copied to `unadopted/`. Blocks.

        Symbolic links are ignored, and so are names that no repository can have.
        """
        return [
            (owner.name, folder.name.removesuffix(".git"))
            for owner in _folders(self._dropped)
            for folder in _folders(Path(owner))
            if folder.name.endswith(".git") and (Path(folder) / "HEAD").is_file()
        ]

    def dropped_path(self, owner: str, name: str) -> Path:
        """Return the path of a repository that `dropped` lists."""
        return self._dropped / owner / f"{name}.git"

    def stage_copy(self, source: Path) -> StagedCopy:
        """Copy branches, tags and HEAD of a folder on this volume to a new repository in `staging/`. Blocks.

        `publish_copy` gives the copy an id, `discard_copy` removes it. Files are hard links if possible.

        Raises:
            GitError: the folder is not a repository, or it lacks objects that its refs need. Or it has
                objects that a push may not contain.
            OSError: files of the folder cannot be read or linked.
            ValueError: the folder has another format.
        """
        path = Path(tempfile.mkdtemp(prefix=_COPY_PREFIX, dir=self._staging)) / "repository.git"
        try:
            with disk_errors(self.root):
                _make_folders(path)
                _write_settings(path, _SOME_BRANCH)
                copy_history(source, path)
            _require_connected(path)
            check_repository(path)
            head = (source / "HEAD").read_text().strip().removeprefix(f"ref: {BRANCHES}")
            names = [ref.name for ref in read_refs(path) if ref.name.startswith(BRANCHES.encode())]
            return StagedCopy(
                path, head, frozenset(name.decode(errors="replace")[len(BRANCHES) :] for name in names)
            )
        except BaseException:
            self.discard_copy(path)
            raise

    def publish_copy(self, staged: Path, repo_id: int, head: str) -> None:
        """Move a staged copy to its final path and set HEAD to the branch `head`. Blocks.

        Raises:
            RepositoryExists: the id is in use.
        """
        _write_settings(staged, head)
        self._publish(staged, repo_id)

    def discard_copy(self, staged: Path) -> None:
        """Remove a staged copy, unless it was published. Blocks."""
        shutil.rmtree(staged.parent, ignore_errors=True)

    def discard_folder(self, path: Path) -> None:
        """Move the folder of a repository to the trash. `sweep` removes it two days later.

        Raises FileNotFoundError.
        """
        trash_path = self._trash / f"{path.stem}-{os.urandom(8).hex()}"
        try:
            path.rename(trash_path)
            os.utime(trash_path)
        finally:
            self._deletions += 1

    def delete(self, repo_id: int) -> None:
        """Move a repository to the trash, then remove all its files, also staged files. Blocks.

        The repository may be missing.
        """
        trash_path = self._trash / f"{repo_id}-{os.urandom(8).hex()}"
        with contextlib.suppress(FileNotFoundError):
            self.path(repo_id).rename(trash_path)
        self._deletions += 1
        self.watch.trust(repo_id)
        shutil.rmtree(trash_path, ignore_errors=True)
        self.clear(repo_id)

    def ids(self) -> Iterator[int]:
        """Yield the ids of all repositories on the volume. Blocks."""
        for path in self.root.glob("repositories/*/*/*.git"):
            if path.stem.isdecimal():
                yield int(path.stem)

    def move_to_trash(self, repo_id: int) -> None:
        """Move a repository to the trash, from which `sweep` removes it two days later.

        The repository may be missing.
        """
        with contextlib.suppress(FileNotFoundError):
            self.discard_folder(self.path(repo_id))

    def clear(self, repo_id: int) -> None:
        """Remove the staged files of a repository. No other process may be working on it. Blocks."""
        for folder in (*self._staging.glob(f"{repo_id}-*"), self._import_folder(repo_id)):
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self, *, older_than: float = _ABANDONED_SECONDS) -> None:
        """Remove files of dead processes in `staging/` and `trash/` after `older_than` seconds. Blocks.

        Files of dead pushes are inside the repositories. They are removed when they are older than any
        running push.
        """
        limit = time.time() - older_than
        for folder in (self._staging, self._trash):
            for entry in folder.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat().st_mtime <= limit:
                        shutil.rmtree(entry, ignore_errors=True)
        for path in self.root.glob("repositories/*/*/*.git"):
            with contextlib.suppress(FileNotFoundError):  # it is deleted at the same time
                for entry in (path / "objects").glob(f"{_TEMPORARY}*"):
                    if entry.stat().st_mtime <= min(limit, time.time() - _LONGEST_PUSH_SECONDS):
                        shutil.rmtree(entry, ignore_errors=True)

    def open(self, repo_id: int) -> pygit2.Repository:
        """Open the repository for use in this thread only.

        On the first use in this process all loose objects are read once (see `disk.check_loose_objects`).

        Raises:
            RepositoryNotFound: the repository does not exist.
            RepositoryDamaged: an object makes libgit2 hang.
            RepositorySuspect: libgit2 hung on it, and git has not checked it yet.
        """
        if repo_id in self.watch.suspects:
            if repo_id in self.watch.damaged:
                raise RepositoryDamaged(f"libgit2 cannot read repository {repo_id}, and git finds damage")
            raise RepositorySuspect(f"libgit2 hung on repository {repo_id}; git must check it first")
        cache = self._thread_cache()
        opened: set[int] = getattr(self._local, "opened", set())
        opened.add(repo_id)
        cached = cache.get(repo_id)
        path = cached.path if cached is not None else str(self.path(repo_id))
        try:
            inode = os.stat(path).st_ino  # noqa: PTH116 - a Path costs more than all else here
        except FileNotFoundError:
            cache.pop(repo_id, None)
            raise RepositoryNotFound("no such repository") from None
        if cached is not None and cached.inode == inode:
            return cached.repo
        if repo_id not in self._checked:
            check_loose_objects(Path(path))
            self._checked.add(repo_id)
        repo = pygit2.Repository(path)
        cache[repo_id] = _OpenRepository(path, inode, repo)
        return repo

    async def call(
        self,
        repo_id: int,
        function: Callable[Concatenate[pygit2.Repository, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Run a function of this package on a repository, in a thread that opens the repository itself.

        The result must be plain values, not pygit2 objects. The function may run again, so it must have no
        side effects before its objects are stored. The call is repeated when git removed the folder of an
        object or replaced packs at that moment. libgit2 lists packs again before it reports a missing object.
        But a listed pack may be removed before libgit2 opens it.

        Raises:
            RepositoryNotFound: the repository does not exist, or was deleted during the call.
            RepositoryDamaged, RepositorySuspect, StorageFull: in addition to the errors of the function.
        """

        def act() -> _T:
            with disk_errors(self.root), self.watch.reading(repo_id):
                began, self._local.opened = time.time(), {repo_id}
                for _ in range(_REPETITIONS):
                    try:
                        return function(self.open(repo_id), *args, **kwargs)
                    except _MISSING_FILE_ERRORS as error:
                        if not self._is_transient(error, began):
                            raise
                return function(self.open(repo_id), *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    def _is_transient(self, error: Exception, began: float) -> bool:
        """True if a retry may succeed. Raises RepositoryNotFound if the repository was deleted."""
        packs = [self.path(repo_id) / "objects" / "pack" for repo_id in self._local.opened]
        try:
            changed = max(folder.stat().st_mtime for folder in packs)
        except FileNotFoundError:
            if all(map(self.exists, self._local.opened)):
                return False
            raise RepositoryNotFound("the repository was deleted in the meantime") from error
        if isinstance(error, OSError):
            return _FOLDER_REMOVED.search(str(error)) is not None
        return changed > began - _PACKS_CHANGE_SECONDS

    def note_check(self, repo_id: int, *, is_sound: bool) -> None:
        """Record the result of git's check: allow reads, or block them if libgit2 would hang. Blocks."""
        if is_sound:
            self.watch.trust(repo_id, is_sound=True)
            return
        is_unreadable = repo_id in self.watch.suspects
        try:
            check_loose_objects(self.path(repo_id))
        except RepositoryDamaged:
            is_unreadable = True
        except FileNotFoundError:
            pass  # git reports the damage
        if is_unreadable:
            self.watch.suspect(repo_id, is_damaged=True)

    def size(self, repo_id: int) -> int:
        """Return the size of a repository's files in bytes, except running pushes and repacks. Blocks.

        Files that forks share as hard links count in every fork.

        Raises:
            RepositoryNotFound: the repository does not exist.
        """
        if not self.exists(repo_id):
            raise RepositoryNotFound("no such repository")
        total = 0
        for folder, folders, names in os.walk(self.path(repo_id)):
            folders[:] = [name for name in folders if not name.startswith(_TEMPORARY)]
            for name in names:
                # A repack or a push may remove files at the same time.
                with contextlib.suppress(FileNotFoundError):
                    file = os.path.join(folder, name)  # noqa: PTH118
                    total += os.stat(file, follow_symlinks=False).st_size  # noqa: PTH116
        return total

    def _thread_cache(self) -> LRUCache[int, _OpenRepository]:
        """Return this thread's open repositories; none after any deletion, because inodes are reused."""
        if getattr(self._local, "deletions", None) != self._deletions:
            self._local.deletions = self._deletions
            self._local.cache = LRUCache(self._open_per_thread)
        cache: LRUCache[int, _OpenRepository] = self._local.cache
        return cache

    @contextlib.contextmanager
    def _staging_folder(self, repo_id: int) -> Iterator[Path]:
        """Yield the path of a new repository in `staging/`. Remove it afterwards unless it was published."""
        with disk_errors(self.root):
            folder = Path(tempfile.mkdtemp(prefix=f"{repo_id}-", dir=self._staging))
        try:
            with disk_errors(self.root):
                yield folder / "repository.git"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _import_folder(self, repo_id: int) -> Path:
        return self._staging / f"{repo_id}{_IMPORT_SUFFIX}"

    def _publish(self, path: Path, repo_id: int) -> Path:
        """Rename a complete repository to its final path. A folder that is not empty is never replaced.

        Files that this class wrote are flushed to disk; git and libgit2 flush objects. Without HEAD the
        repository would be lost, including all later pushes. Raises RepositoryExists.
        """
        target = self.path(repo_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        flush_files(file for name in _OWN_FILES if (file := path / name).exists())
        try:
            path.rename(target)
        except OSError as error:
            if not self.exists(repo_id):
                raise
            raise RepositoryExists("the id is in use") from error
        flush_files((target.parent,))
        return target


def _folders(path: Path) -> list[os.DirEntry[str]]:
    """Return the folders whose names can be part of a repository's path; empty if ``path`` does not exist."""
    with contextlib.suppress(FileNotFoundError), os.scandir(path) as entries:
        return [
            entry
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and _DROPPED_NAME.fullmatch(entry.name)
        ]
    return []


def _require_connected(path: Path) -> None:
    if missing := check_connectivity(path):
        raise RepositoryDamaged(missing)


def _make_folders(path: Path) -> None:
    for folder in _FOLDERS:
        (path / folder).mkdir(parents=True, exist_ok=True)


def _write_settings(path: Path, head: str) -> None:
    (path / "config").write_text(_CONFIG)
    (path / "HEAD").write_text(f"ref: {BRANCHES}{head}\n")
