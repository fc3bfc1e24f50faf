"""Where repositories lie, and how they come to be and go.

A path follows from the integer id alone, so renames and transfers move no files. Whatever appears under its
final path is complete: it is built in `staging/` and renamed into place; what is deleted is renamed into
`trash/` first. A process that dies in between leaves rubbish there, never half a repository. The next try at the
same repository, its deletion, or `sweep` takes the rubbish away.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pygit2
from pygit2.enums import ConfigLevel

from ingot_repos.git.command import GitArgs, clean_environment, run_git
from ingot_repos.git.disk import check_loose_objects, disk_errors
from ingot_repos.git.errors import InvalidName, RepositoryExists, RepositoryNotFound
from ingot_repos.git.leftovers import clear_leftovers
from ingot_repos.git.refs import BRANCHES, default_branch, is_valid_ref_name

_P = ParamSpec("_P")
_T = TypeVar("_T")

# gitrepository-layout(5): all that git asks of a bare repository, without hooks and samples.
_FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags")
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_FORK_SECONDS = 1800.0
# Longer than anything takes that is under way: a fetch from a remote ends after a day.
_ABANDONED_SECONDS = 2 * 86400.0


def _isolate_libgit2() -> None:
    """Give libgit2 the clean environment that `command` gives to git."""
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL, ConfigLevel.PROGRAMDATA):
        pygit2.settings.search_path[level] = ""
    pygit2.settings.owner_validation = False
    # What a merge made must survive a power cut once it was answered for.
    pygit2.settings.enable_fsync_gitdir(True)


_isolate_libgit2()


class Storage:
    """The repositories of one volume.

    `open` answers from a cache of each thread: libgit2's objects must not be used by two threads at once,
    so a repository, and whatever was read from it, stays in the thread that opened it. `call` does that right
    from a coroutine. All methods may be called from any thread.

    Args:
        root: the volume's folder; made when missing.
        open_per_thread: how many open repositories each thread keeps.
        threads: how many calls of `call` run at once; further ones wait.
    """

    def __init__(self, root: Path, *, open_per_thread: int = 32, threads: int = 8) -> None:
        self.root = root.resolve()
        self._staging = self.root / "staging"
        self._trash = self.root / "trash"
        self._open_per_thread = open_per_thread
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="git-call")
        self._deletions = 0
        self._checked: set[int] = set()
        for folder in (self._staging, self._trash):
            folder.mkdir(parents=True, exist_ok=True)

    def path(self, repo_id: int) -> Path:
        """Where the repository of this id lies or would lie: `repositories/ab/cd/<id>.git`."""
        if repo_id <= 0:
            raise InvalidName("not a repository id")
        # Spread by a hash, so that no folder grows with the number of repositories.
        spread = hashlib.sha256(str(repo_id).encode()).hexdigest()
        return self.root / "repositories" / spread[:2] / spread[2:4] / f"{repo_id}.git"

    def exists(self, repo_id: int) -> bool:
        return (self.path(repo_id) / "HEAD").is_file()

    def create(self, repo_id: int, head: str) -> Path:
        """Make an empty bare repository (SHA-1) whose HEAD names the branch `head`, its default branch.

        Raises:
            RepositoryExists: the id is taken.
            InvalidName: not a branch name.
        """
        if not is_valid_ref_name(head):
            raise InvalidName("not a branch name")
        with self._building(repo_id) as built:
            for folder in _FOLDERS:
                (built / folder).mkdir(parents=True)
            _write_settings(built, head)
            return self._publish(built, repo_id)

    def fork(self, source_id: int, target_id: int) -> Path:
        """Copy branches, tags and HEAD of a repository; refs/pull/ and all else stay behind. Blocks.

        Objects are hard-linked (`git clone --local`), so no data is copied and neither repository depends
        on the other afterwards. When the target exists already it is left as it is.

        Raises:
            RepositoryNotFound: no such source.
            GitFailed, GitTimedOut: git could not copy it; the target does not exist then.
        """
        target = self.path(target_id)
        self.clear(target_id)
        if self.exists(target_id):
            return target
        head = default_branch(self.open(source_id))
        clone = ("--bare", "--local", "--template=", "--quiet")
        with self._building(target_id) as built:
            run_git(
                GitArgs("clone", clone, (str(self.path(source_id)), str(built))),
                environment=clean_environment(protocols=("file",)),
                time_limit=_FORK_SECONDS,
                leashed=True,
            )
            # The clone remembers where it came from; a repository here knows nothing of others.
            _write_settings(built, head)
            with contextlib.suppress(RepositoryExists):
                self._publish(built, target_id)
        return target

    def filling(self, repo_id: int, head: str) -> Path:
        """A bare repository in `staging/` to be filled and then opened with `open_filled`; the same one each time.

        It outlives the process that fills it, so that another can go on. Blocks.

        Raises:
            InvalidName: not a branch name.
        """
        if not is_valid_ref_name(head):
            raise InvalidName("not a branch name")
        folder = self._staging / f"{repo_id}.filling"
        built = folder / "repository.git"
        for part in _FOLDERS:
            (built / part).mkdir(parents=True, exist_ok=True)
        _write_settings(built, head)
        os.utime(folder)
        clear_leftovers(built)
        return built

    def open_filled(self, repo_id: int, head: str) -> None:
        """Put what was filled in its place, with HEAD at the branch `head`. Blocks.

        Raises:
            RepositoryExists: there is one already.
        """
        built = self._staging / f"{repo_id}.filling" / "repository.git"
        _write_settings(built, head)
        self._publish(built, repo_id)

    def delete(self, repo_id: int) -> None:
        """Take a repository away at once, then remove its files, begun ones too. Nothing happens without one."""
        taken = self._trash / f"{repo_id}-{os.urandom(8).hex()}"
        with contextlib.suppress(FileNotFoundError):
            self.path(repo_id).rename(taken)
        self._deletions += 1
        shutil.rmtree(taken, ignore_errors=True)
        self.clear(repo_id)

    def clear(self, repo_id: int) -> None:
        """Remove what was begun of a repository in `staging/`. One process at a time works on one. Blocks."""
        for leftover in (*self._staging.glob(f"{repo_id}-*"), self._staging / f"{repo_id}.filling"):
            shutil.rmtree(leftover, ignore_errors=True)

    def sweep(self, *, older_than: float = _ABANDONED_SECONDS) -> None:
        """Remove what died processes left in `staging/` and `trash/`, `older_than` seconds ago or more. Blocks."""
        limit = time.time() - older_than
        for folder in (self._staging, self._trash):
            for leftover in folder.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if leftover.stat().st_mtime <= limit:
                        shutil.rmtree(leftover, ignore_errors=True)

    def open(self, repo_id: int) -> pygit2.Repository:
        """The repository, for use in this thread only.

        Its first opening in this process reads all loose objects once (see `disk.check_loose_objects`).

        Raises:
            RepositoryNotFound: there is none.
            RepositoryDamaged: it holds what libgit2 must not be let near.
        """
        cache = self._thread_cache()
        path = self.path(repo_id)
        try:
            inode = path.stat().st_ino
        except FileNotFoundError:
            cache.pop(repo_id, None)
            raise RepositoryNotFound("no such repository") from None
        cached = cache.get(repo_id)
        if cached is not None and cached[0] == inode:
            cache.move_to_end(repo_id)
            return cached[1]
        if repo_id not in self._checked:
            check_loose_objects(path)
            self._checked.add(repo_id)
        repo = pygit2.Repository(str(path))
        cache[repo_id] = (inode, repo)
        cache.move_to_end(repo_id)
        if len(cache) > self._open_per_thread:
            cache.popitem(last=False)
        return repo

    async def call(
        self,
        repo_id: int,
        function: Callable[Concatenate[pygit2.Repository, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Run a function of this room on a repository, in a thread that opens it for itself.

        What comes back must be plain values, not objects of pygit2.

        Raises:
            RepositoryDamaged, StorageFull: besides what the function raises.
        """

        def act() -> _T:
            with disk_errors():
                return function(self.open(repo_id), *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    def size(self, repo_id: int) -> int:
        """Bytes of all files of a repository; hard-linked ones count in every fork. Blocks.

        Raises:
            RepositoryNotFound: there is none.
        """
        if not self.exists(repo_id):
            raise RepositoryNotFound("no such repository")
        total = 0
        for folder, _, names in os.walk(self.path(repo_id)):
            for name in names:
                # A repack or a push may take files away under our hands.
                with contextlib.suppress(FileNotFoundError):
                    total += os.stat(os.path.join(folder, name), follow_symlinks=False).st_size  # noqa: PTH116, PTH118
        return total

    def _thread_cache(self) -> OrderedDict[int, tuple[int, pygit2.Repository]]:
        """This thread's open repositories; emptied after any deletion, as inodes are used again."""
        if getattr(self._local, "deletions", None) != self._deletions:
            self._local.deletions = self._deletions
            self._local.cache = OrderedDict()
        cache: OrderedDict[int, tuple[int, pygit2.Repository]] = self._local.cache
        return cache

    @contextlib.contextmanager
    def _building(self, repo_id: int) -> Iterator[Path]:
        """A fresh folder in `staging/`, gone afterwards unless it was published."""
        with disk_errors():
            folder = Path(tempfile.mkdtemp(prefix=f"{repo_id}-", dir=self._staging))
        try:
            with disk_errors():
                yield folder / "repository.git"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _publish(self, built: Path, repo_id: int) -> Path:
        """Rename a finished repository to its place; a rename never replaces a folder with content."""
        target = self.path(repo_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            built.rename(target)
        except OSError as error:
            if not self.exists(repo_id):
                raise
            raise RepositoryExists("the id is taken") from error
        return target


def _write_settings(path: Path, head: str) -> None:
    (path / "config").write_text(_CONFIG)
    (path / "HEAD").write_text(f"ref: {BRANCHES}{head}\n")
