"""Creates the content of a fork: branches and tags of its parent with their objects, and nothing else.

A parent has more objects, for example of deleted branches and pull requests. A user who may push to the fork
could reference them, because git requests only missing objects. All functions block.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.errors import GitError, GitFailed, RepositoryDamaged
from ingot_git.refs.refs import ends_like_an_id
from ingot_git.storage.copies import ObjectFile, Ref, read_contents, write_refs
from ingot_git.storage.packs import in_use

_REFS = (b"refs/heads/", b"refs/tags/")
_TIME_LIMIT = 1800.0
_ATTEMPTS = 3
_COUNT = GitArgs("rev-list", ("--objects", "--count", "--use-bitmap-index", "--all"))
_PRUNE = GitArgs("prune", ("--expire=now", "--no-progress"))
# A delta window would search for deltas that the source does not have either.
_REPACK = GitArgs("repack", ("-a", "-d", "-n", "-q", "--window=0"))
_GRAPH = "objects/info/commit-graph"
_PARENTS_GRAPH = f"{_GRAPH}.parent"
# Changed-path filters would take minutes for a long history; the first repack of the fork adds them.
_WRITE_GRAPH = GitArgs("commit-graph write", ("--reachable", "--no-progress"))
_KILLED = 128
"""git exits with this plus the signal number when one of its child processes was killed."""
# gitformat-pack(5), index version 2: 8 bytes, then 256 fan-out numbers. The last one is the object count.
_COUNT_AT = 8 + 255 * 4


def copy_history(source: Path, target: Path) -> None:
    """Copy branches, tags and their history to a new, empty repository on the same volume.

    If no pack contains other objects, files are hard links, which cost no space. Otherwise git creates a new
    pack.

    Raises:
        RepositoryNotFound: the source does not exist.
        RepositoryDamaged: an object that the refs need is missing or unreadable.
        GitFailed, GitTimedOut, StorageFull: git failed.
        FileNotFoundError: the source was repacked repeatedly during the copy.
    """
    has_all = _copy_objects(source, target)
    graph = target / _PARENTS_GRAPH
    if not graph.exists():
        return
    if has_all:
        graph.rename(target / _GRAPH)
        return
    graph.unlink()  # it may contain commits that the fork does not have
    with contextlib.suppress(GitError):  # the fork works without it
        _run(target, _WRITE_GRAPH)


def _copy_objects(source: Path, target: Path) -> bool:
    """Copy the objects. Return True if the target got all objects of the source.

    The target always gets the source's commit-graph, but under another name. With its usual name git would
    trust it and not notice a missing commit.
    """
    with in_use(source):
        # Before the objects, which then include every commit of the commit-graph.
        with contextlib.suppress(FileNotFoundError):
            os.link(source / _GRAPH, target / _PARENTS_GRAPH)
        for look in range(_ATTEMPTS):
            try:
                contents = read_contents(source)  # a folder of objects may disappear, too
                cruft = {_stem(file) for file in contents.files if file.path.endswith(".mtimes")}
                write_refs(target, [ref for ref in contents.refs if _is_for_forks(ref)])
                _link(source, target, [file for file in contents.files if _stem(file) not in cruft])
                if _has_nothing_else(target):
                    return not cruft
                if _has_nothing_else(target, after=_PRUNE):
                    return False
                _link(source, target, contents.files)
                break
            except FileNotFoundError:
                if look + 1 == _ATTEMPTS:
                    raise
                _remove_objects(target, "??", "pack")
    try:
        _run(target, _REPACK)
    except GitFailed as error:
        if 0 < error.exit_code <= _KILLED:
            raise RepositoryDamaged(str(error)) from error
        raise
    _remove_objects(target, "??")
    return False


def _is_for_forks(ref: Ref) -> bool:
    """True for branches and tags.

    Old refs that look like ids are excluded, because new refs may not look like ids.
    """
    return ref.name.startswith(_REFS) and not ends_like_an_id(ref.name.decode(errors="replace"))


def _stem(file: ObjectFile) -> str:
    return file.path.rpartition(".")[0] or file.path


def _link(source: Path, target: Path, files: Iterable[ObjectFile]) -> None:
    for file in files:
        (target / file.path).parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(source / file.path, target / file.path)


def _has_nothing_else(path: Path, *, after: GitArgs | None = None) -> bool:
    """True if the files contain exactly the objects that the refs reach. ``after`` is run first."""
    try:
        if after is not None:
            _run(path, after)
        needed = int(_run(path, _COUNT))
    except GitFailed:
        return False
    loose = sum(1 for _ in path.glob("objects/[0-9a-f][0-9a-f]/*"))
    return needed == loose + sum(_count(index) for index in path.glob("objects/pack/*.idx"))


def _run(path: Path, args: GitArgs) -> bytes:
    # A watchdog would take several times as long as git does for most forks. An orphaned git that reads or
    # adds does no harm: the next attempt uses another folder. Only git that runs long and deletes gets a
    # watchdog.
    return run_git(args, git_dir=path, time_limit=_TIME_LIMIT, ends_with_parent=args in (_PRUNE, _REPACK))


def _count(index: Path) -> int:
    """Return the number of objects in the pack of an index."""
    with index.open("rb") as file:
        file.seek(_COUNT_AT)
        return int.from_bytes(file.read(4))


def _remove_objects(path: Path, *patterns: str) -> None:
    for pattern in patterns:
        for folder in path.glob(f"objects/{pattern}"):
            shutil.rmtree(folder)
            if folder.name == "pack":
                folder.mkdir()
