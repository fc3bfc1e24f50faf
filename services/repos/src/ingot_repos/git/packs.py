"""Packs that are ready for fetches: few of them, with a bitmap and a commit-graph; and what no ref needs any more.

Objects that no ref reaches go into a pack of their own (a cruft pack), which remembers since when. They are pruned
when they have been there for the grace period and nobody fetches or pushes, or writes what is in them.
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

from ingot_repos.git.command import GitArgs, run_git
from ingot_repos.git.disk import disk_errors
from ingot_repos.git.errors import GitFailed, PackedByAnother
from ingot_repos.git.packing_copies import PackingCopy, packing_copy
from ingot_repos.git.ref_files import loose_refs

_TIME_LIMIT = 3600.0
_FULL_REPACK_SECONDS = 7 * 86400.0
# Every repository has it, so that locking writes nothing, also on a full disk.
_LOCK_FILE = "config"
_LOOKS = 3
_DAMAGE_CHARACTERS = 2000
# Each is a file that every fetch and every list reads; of fewer ones packing is not worth the moment in which no ref goes.
_MOST_LOOSE_REFS = 500
_LONGEST_WRITE_SECONDS = 3600.0
_LINKS = "tmp_objdir-cruft"
LOCKS = ("objects/info/*.lock", "objects/info/commit-graphs/*.lock", "objects/pack/*.lock")
"""What only `pack_repository` locks: of a process that was killed, they would refuse every later commit-graph."""
# git looks for the index: it comes last.
_CRUFT_SUFFIXES = (".pack", ".rev", ".mtimes", ".idx")


def pack_repository(path: Path, *, grace: timedelta) -> bool:
    """Make few packs of many, and write bitmap and commit-graph; whether something waits to be pruned. Blocks.

    Each time, very many loose refs become one list, and small packs and loose objects are joined so that sizes grow geometrically. Once a week, or when a large
    join took the bitmap away, everything is joined, and what no ref needs is set apart.

    Raises:
        GitFailed, GitTimedOut, StorageFull: nothing is lost; the old packs are there until the new ones are.
        RepositoryDamaged: the list of refs cannot be read.
        PackedByAnother: another process does it.
    """
    with packed_by_nobody_else(path) as is_alone:
        if not is_alone:
            raise PackedByAnother
        for pattern in LOCKS:
            for lock in path.glob(pattern):
                lock.unlink(missing_ok=True)
        with disk_errors():
            _put_back(path)
        _pack(path, grace)
    return any(_packs(path, ".mtimes"))


def _pack(path: Path, grace: timedelta) -> None:
    with packing_copy(path) as copy:
        _repack(copy, "--geometric=2", "--no-write-bitmap-index")
        copy.remove_old()
    if _is_full_repack_due(path, grace):
        _start_grace(path)
        _join_everything(path, grace)
    _run(path, GitArgs("commit-graph write", ("--reachable", "--changed-paths", "--no-progress")))
    pack_loose_refs(path)


def _join_everything(path: Path, grace: timedelta) -> None:
    """Join all packs. What has waited to be pruned goes, unless somebody may need it again.

    libgit2 writes no object that is in a pack already, although it may wait there to be pruned: it sets the time of the
    pack to now, and soon a ref leads to the object. git keeps the old pack where a push brings the same one again.
    """
    seconds = grace.total_seconds()
    refs, times = _refs(path), _times_of_cruft(path)
    with packing_copy(path) as copy:
        recent = time.time() - min(seconds, _LONGEST_WRITE_SECONDS)
        may_prune = not is_in_use(path) and all(ns / 1e9 <= recent for ns in times.values())
        expiration = f"{int(seconds)}.seconds.ago" if may_prune else "never"
        _repack(copy, "--cruft", f"--cruft-expiration={expiration}", "--write-bitmap-index")
        with _used_by_nobody(path) as is_unused:
            is_needed = may_prune and not (is_unused and _refs(path) == refs)
            was_needed = not times.items() <= _times_of_cruft(path).items()
            copy.remove_old(but=times if is_needed or was_needed else ())


def _repack(copy: PackingCopy, *options: str) -> None:
    """Let git pack the objects, and the repository have what is new."""
    _run(copy.path, GitArgs("repack", (*options, "-d", "-n", "-q")))
    with disk_errors():
        copy.hand_over()


def pack_loose_refs(path: Path) -> None:
    """Make one list of very many loose refs. Blocks. Raises GitTimedOut, StorageFull."""
    if sum(1 for _, _, names in os.walk(path / "refs") for _ in names) > _MOST_LOOSE_REFS:
        # A push that deletes refs holds their lock; the next time does as well.
        with contextlib.suppress(GitFailed):
            _run(path, GitArgs("pack-refs", ("--all",)))


@contextlib.contextmanager
def packed_by_nobody_else(path: Path) -> Iterator[bool]:
    """Whether no other process packs the repository; none begins to inside the block. A dead one does not count."""
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
    """Let git read all objects; what it said of damage, or nothing. Blocks. Raises GitTimedOut.

    Git lists the objects before it reads the refs, so what is pushed in between looks as if it were missing: damage is what each look finds.
    """
    options = ("--full", "--no-dangling", "--no-progress", "--no-reflogs")
    damage = ""
    for _ in range(_LOOKS):
        try:
            _run(path, GitArgs("fsck", options))
        except GitFailed as error:
            damage = (error.stderr or f"git fsck ended with {error.exit_code}")[:_DAMAGE_CHARACTERS]
        else:
            return ""
    return damage


@contextlib.contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Nothing of the repository is pruned inside the block, in no process."""
    with _lock_file(path) as lock:
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_SH)  # nobody holds the other kind for longer than a moment
        yield


def is_in_use(path: Path) -> bool:
    """Whether somebody is inside ``in_use``. Whoever comes later sees only refs of now; see `_join_everything`."""
    with _used_by_nobody(path) as is_unused:
        return not is_unused


@contextlib.contextmanager
def _used_by_nobody(path: Path) -> Iterator[bool]:
    """Whether nobody is inside ``in_use``; then whoever comes waits until the block ends, which takes a moment."""
    with _lock_file(path) as lock:
        try:
            if lock is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


async def while_in_use(path: Path, answer: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The chunks of ``answer``, inside ``in_use``."""
    with in_use(path):
        async with contextlib.aclosing(answer):
            async for chunk in answer:
                yield chunk


@contextlib.contextmanager
def _lock_file(path: Path) -> Iterator[int | None]:
    """A file of the repository; None when that is not there any more."""
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
    """Objects that no ref needs get the time of their pack, so for those that are new to it the time is now."""
    for pack in _packs(path, ".pack"):
        if not pack.with_suffix(".mtimes").exists():
            os.utime(pack)


def _times_of_cruft(path: Path) -> dict[str, int]:
    """When each pack of what no ref needs was needed last, by its name."""
    times = {}
    for file in _packs(path, ".mtimes"):
        with contextlib.suppress(FileNotFoundError):
            times[file.stem] = file.with_suffix(".pack").stat().st_mtime_ns
    return times


def _refs(path: Path) -> bytes:
    """Another one after every change of a ref."""
    digest = hashlib.blake2b()
    with contextlib.suppress(FileNotFoundError):
        status = (path / "packed-refs").stat()
        digest.update(f"{status.st_ino} {status.st_mtime_ns} {status.st_size}\n".encode())
    for name, target in sorted(loose_refs(path, "refs/")):
        digest.update(name + b"\0" + target + b"\0")
    return digest.digest()


def _put_back(path: Path) -> None:
    """Packs behind links that a process of the version before this has left are packs of the repository again."""
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
