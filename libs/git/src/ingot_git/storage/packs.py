"""Repacks repositories for fast fetches, with bitmaps and commit-graphs, and prunes unreachable objects.

Unreachable objects go into a separate cruft pack, which records when they became unreachable. They are pruned
after the grace period, when no fetch, push or write uses the repository.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import AsyncGenerator, Iterator
from datetime import timedelta
from pathlib import Path

from ingot_git.process.command import GitArgs, clean_environment, run_git
from ingot_git.process.disk import disk_errors
from ingot_git.process.errors import GitFailed, GitTimedOut, PackedByAnother, StorageFull
from ingot_git.refs.ref_files import loose_refs
from ingot_git.storage.commit_graphs import COMMIT_GRAPHS, has_commit_graph
from ingot_git.storage.packing_copies import PackingCopy, packing_copy

_TIME_LIMIT = 3600.0
_FULL_REPACK_SECONDS = 7 * 86400.0
# Every repository has this file, so locking writes nothing, even on a full disk.
_LOCK_FILE = "config"
_ATTEMPTS = 3
_DAMAGE_CHARACTERS = 2000
# Each loose ref is a file that every fetch and listing reads. Below this number, packing is not worth the
# moment in which all refs are locked.
_MOST_LOOSE_REFS = 500
_LONGEST_WRITE_SECONDS = 3600.0
_LATE = 2**34
"""Seconds since the epoch: the first date that the commit-graph cannot store (gitformat-commit-graph(5))."""
_NEW_INDEX_BYTES = 512 * 1024
"""Bytes of the indexes of packs since the last commit-graph. An object takes about 32 bytes."""
_LINKS = "tmp_objdir-cruft"
LOCKS = ("objects/info/*.lock", "objects/info/commit-graphs/*.lock", "objects/pack/*.lock")
"""Locks that only `pack_repository` uses. A stale one would block all later commit-graphs."""
# git looks for the index, so it comes last.
_CRUFT_SUFFIXES = (".pack", ".rev", ".mtimes", ".idx")


def pack_repository(path: Path, *, grace: timedelta) -> bool:
    """Repack into few packs, with bitmap and commit-graph. Return True if objects wait for pruning. Blocks.

    Each run packs loose refs if there are very many. It joins small packs and loose objects into packs of
    geometrically growing sizes. Once a week, or when a large join removed the bitmap, it joins all packs and
    separates unreachable objects. It also does this when the grace period of objects has ended.

    Raises:
        GitFailed, GitTimedOut, StorageFull: nothing is lost; old packs stay until the new packs exist.
        RepositoryDamaged: the list of refs cannot be read.
        PackedByAnother: another process is repacking.
    """
    with repack_lock(path) as is_alone:
        if not is_alone:
            raise PackedByAnother
        for pattern in LOCKS:
            for lock in path.glob(pattern):
                lock.unlink(missing_ok=True)
        with disk_errors():
            _restore_linked_packs(path)
        _pack(path, grace)
    return any(_packs(path, ".mtimes"))


def _pack(path: Path, grace: timedelta) -> None:
    with packing_copy(path) as copy:
        _repack(copy, "--geometric=2", "--no-write-bitmap-index")
        copy.remove_old()
    if _is_full_repack_due(path, grace):
        _start_grace(path)
        _join_everything(path, grace)
    _write_commit_graph(path)
    pack_loose_refs(path)


def write_due_commit_graph(path: Path) -> None:
    """Write the commit-graph if about 16,000 objects are new since it was last written. Blocks.

    Generation numbers make walks through history short and correct (see `reachability`). A failure is
    ignored, because maintenance writes the commit-graph later.
    """
    written = max((_modified(path / name) for name in COMMIT_GRAPHS), default=0.0)
    new = sum(_size_if_newer(file, written) for file in _packs(path, ".idx"))
    if new < _NEW_INDEX_BYTES:
        return
    with contextlib.suppress(GitFailed, GitTimedOut, StorageFull), repack_lock(path) as is_alone:
        if is_alone:
            _write_commit_graph(path, "--max-new-filters=0")


def _write_commit_graph(path: Path, *options: str) -> None:
    """Write the commit-graph with changed-path filters. Remove it if it cannot store the date of a commit."""
    if _has_late_commit(path):
        _remove_commit_graph(path)
    else:
        options = ("--reachable", "--changed-paths", "--no-progress", *options)
        _run(path, GitArgs("commit-graph write", options))


def _has_late_commit(path: Path, *, past_commit_graph: bool = False) -> bool:
    """True if a commit is dated in the year 2514 or later.

    The commit-graph truncates such a date, and git then reports damage.
    """
    config = (("core.commitGraph", "false"),) if past_commit_graph else ()
    output = run_git(
        GitArgs("rev-list", ("--all", f"--since-as-filter=@{_LATE} +0000", "--max-count=1")),
        git_dir=path,
        environment=clean_environment(config=config),
        time_limit=_TIME_LIMIT,
        ends_with_parent=True,
    )
    return bool(output)


def _remove_commit_graph(path: Path) -> None:
    with disk_errors():
        for name in COMMIT_GRAPHS:
            (path / name).unlink(missing_ok=True)


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _size_if_newer(file: Path, time: float) -> int:
    """Return the size of a file in bytes. Return 0 if it is older than ``time`` or no longer exists."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return 0
    return stat.st_size if stat.st_mtime > time else 0


def _join_everything(path: Path, grace: timedelta) -> None:
    """Join all packs. Prune expired objects unless a process may need them again.

    libgit2 does not write an object that a pack has, even if the object waits for pruning. It only sets the
    time of this pack to now. A ref will soon need the object, so a pack with a new time is kept. git keeps
    the old pack when a push brings the same pack again.
    """
    seconds = grace.total_seconds()
    refs, times = _refs(path), _times_of_cruft(path)
    with packing_copy(path) as copy:
        recent = time.time() - min(seconds, _LONGEST_WRITE_SECONDS)
        may_prune = not is_in_use(path) and all(ns / 1e9 <= recent for ns in times.values())
        expiration = f"{int(seconds)}.seconds.ago" if may_prune else "never"
        _repack(copy, "--cruft", f"--cruft-expiration={expiration}", "--write-bitmap-index")
        with _exclusive_use(path) as is_unused:
            is_needed = may_prune and not (is_unused and _refs(path) == refs)
            was_needed = not times.items() <= _times_of_cruft(path).items()
            copy.remove_old(keep=times if is_needed or was_needed else ())


def _repack(copy: PackingCopy, *options: str) -> None:
    """Repack the objects with git, and link the new packs into the repository."""
    _run(copy.path, GitArgs("repack", (*options, "-d", "-n", "-q")))
    with disk_errors():
        copy.hand_over()


def pack_loose_refs(path: Path) -> None:
    """Pack loose refs if there are very many. Blocks. Raises GitTimedOut, StorageFull."""
    if sum(1 for _, _, names in os.walk(path / "refs") for _ in names) > _MOST_LOOSE_REFS:
        # A push that deletes refs holds the lock; the next run can pack them.
        with contextlib.suppress(GitFailed):
            _run(path, GitArgs("pack-refs", ("--all",)))


@contextlib.contextmanager
def repack_lock(path: Path) -> Iterator[bool]:
    """Yield True while this process holds the repack lock; False if another process is repacking.

    The lock of a dead process is released.
    """
    folder = os.open(path / "objects", os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(folder)


def check_repository(path: Path) -> str:
    """Let git read all objects. Return its message about damage; empty without damage.

    Blocks. git lists objects before it reads refs, so objects of a concurrent push can look missing. So
    damage is reported only if every attempt finds it. Raises GitTimedOut.
    """
    options = ("--full", "--no-dangling", "--no-progress", "--no-reflogs")
    damage = ""
    with contextlib.suppress(GitFailed):  # git fsck reports the reason
        if has_commit_graph(path) and _has_late_commit(path, past_commit_graph=True):
            _remove_commit_graph(path)
    for _ in range(_ATTEMPTS):
        try:
            _run(path, GitArgs("fsck", options))
        except GitFailed as error:
            damage = (error.stderr or f"git fsck ended with {error.exit_code}")[:_DAMAGE_CHARACTERS]
        else:
            return ""
    return damage


@contextlib.contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Prevent pruning of the repository inside the block, in all processes."""
    with _lock_file(path) as lock:
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_SH)  # the exclusive lock is held only for a moment
        yield


def is_in_use(path: Path) -> bool:
    """True if a process is inside ``in_use``. A process that enters later reads current refs.

    See `_join_everything`.
    """
    with _exclusive_use(path) as is_unused:
        return not is_unused


@contextlib.contextmanager
def _exclusive_use(path: Path) -> Iterator[bool]:
    """Yield True if no process is inside ``in_use``, else False.

    After True, new processes wait until the block ends, which must be short.
    """
    with _lock_file(path) as lock:
        try:
            if lock is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


async def while_in_use(path: Path, answer: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of ``answer``. The repository is not pruned until the last chunk."""
    with in_use(path):
        async with contextlib.aclosing(answer):
            async for chunk in answer:
                yield chunk


@contextlib.contextmanager
def _lock_file(path: Path) -> Iterator[int | None]:
    """Open the lock file of the repository. Yield None if the repository no longer exists."""
    try:
        lock = os.open(path / _LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        yield lock
    finally:
        os.close(lock)


def _is_full_repack_due(path: Path, grace: timedelta) -> bool:
    bitmaps = [time.time() - file.stat().st_mtime for file in _packs(path, ".bitmap")]
    cruft = [time.time() - file.stat().st_mtime for file in _packs(path, ".mtimes")]
    return (
        not bitmaps
        or min(bitmaps) > _FULL_REPACK_SECONDS
        or any(age > grace.total_seconds() for age in cruft)
    )


def _start_grace(path: Path) -> None:
    """Set the time of all packs to now, except cruft packs.

    Objects that become unreachable get the time of their pack. So their grace period starts now.
    """
    for pack in _packs(path, ".pack"):
        if not pack.with_suffix(".mtimes").exists():
            os.utime(pack)


def _times_of_cruft(path: Path) -> dict[str, int]:
    """Return the time of the last use of each cruft pack in nanoseconds, by pack name."""
    times = {}
    for file in _packs(path, ".mtimes"):
        with contextlib.suppress(FileNotFoundError):
            times[file.stem] = file.with_suffix(".pack").stat().st_mtime_ns
    return times


def _refs(path: Path) -> bytes:
    """Return a digest that changes with every change of a ref."""
    digest = hashlib.blake2b()
    with contextlib.suppress(FileNotFoundError):
        status = (path / "packed-refs").stat()
        digest.update(f"{status.st_ino} {status.st_mtime_ns} {status.st_size}\n".encode())
    for name, target in sorted(loose_refs(path, "refs/")):
        digest.update(name + b"\0" + target + b"\0")
    return digest.digest()


def _restore_linked_packs(path: Path) -> None:
    """Restore packs from links that an earlier version of Ingot left."""
    links = path / "objects" / _LINKS
    for suffix in _CRUFT_SUFFIXES:
        for file in links.glob(f"*{suffix}"):
            with contextlib.suppress(FileExistsError):
                os.link(file, path / "objects" / "pack" / file.name)
    shutil.rmtree(links, ignore_errors=True)


def _packs(path: Path, suffix: str) -> Iterator[Path]:
    return (path / "objects" / "pack").glob(f"pack-*{suffix}")


def _run(path: Path, args: GitArgs) -> None:
    with disk_errors():
        run_git(args, git_dir=path, time_limit=_TIME_LIMIT, ends_with_parent=True)
