"""What a fork begins with: the branches and tags of its parent and the objects that they need, and no other object.

A parent has more objects, such as those of deleted branches and of pull requests. Whoever may push to the fork could name
them there: git asks only for objects that are missing. Everything here blocks.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from ingot_repos.git.command import GitArgs, run_git
from ingot_repos.git.copies import ObjectFile, read_contents, write_refs
from ingot_repos.git.errors import GitError, GitFailed, RepositoryDamaged
from ingot_repos.git.packs import in_use

_REFS = (b"refs/heads/", b"refs/tags/")
_TIME_LIMIT = 1800.0
_LOOKS = 3
_COUNT = GitArgs("rev-list", ("--objects", "--count", "--use-bitmap-index", "--all"))
_PRUNE = GitArgs("prune", ("--expire=now", "--no-progress"))
# The window would be looked through for deltas that the source has not, either.
_REPACK = GitArgs("repack", ("-a", "-d", "-n", "-q", "--window=0"))
_GRAPH = "objects/info/commit-graph"
_PARENTS_GRAPH = f"{_GRAPH}.parent"
# The paths that commits change would take minutes for a long history; they are added when the fork is packed.
_WRITE_GRAPH = GitArgs("commit-graph write", ("--reachable", "--no-progress"))
_KILLED = 128
"""Git ends with this and the number of the signal when a git that it began was killed."""
# gitformat-pack(5), version 2 of the index: behind 8 bytes the fan-out, whose last of 256 numbers counts the objects.
_COUNT_AT = 8 + 255 * 4


def copy_history(source: Path, target: Path) -> None:
    """Give branches and tags of one repository, with their history, to a new and empty one on the same volume.

    Files are linked, which costs no space, if no pack holds anything else; otherwise git packs what is needed anew.

    Raises:
        RepositoryNotFound: there is no source.
        RepositoryDamaged: something that its refs need is missing or cannot be read.
        GitFailed, GitTimedOut, StorageFull: git could not go on.
        FileNotFoundError: the source was packed again and again meanwhile.
    """
    has_all = _copy_objects(source, target)
    graph = target / _PARENTS_GRAPH
    if not graph.exists():
        return
    if has_all:
        graph.rename(target / _GRAPH)
        return
    graph.unlink()  # it may have commits that the fork has not
    with contextlib.suppress(GitError):  # the fork is whole without it
        _run(target, _WRITE_GRAPH)


def _copy_objects(source: Path, target: Path) -> bool:
    """Whether the target has all objects of the source. It gets the source's commit-graph in any case.

    Under another name: git would take from it what follows what, and not see that a commit is missing.
    """
    with in_use(source):
        # Before the objects: then they have every commit that it has.
        with contextlib.suppress(FileNotFoundError):
            os.link(source / _GRAPH, target / _PARENTS_GRAPH)
        for look in range(_LOOKS):
            try:
                contents = read_contents(source)  # a folder of objects may go meanwhile, too
                cruft = {_stem(file) for file in contents.files if file.path.endswith(".mtimes")}
                write_refs(target, [ref for ref in contents.refs if ref.name.startswith(_REFS)])
                _link(source, target, [file for file in contents.files if _stem(file) not in cruft])
                if _has_nothing_else(target):
                    return not cruft
                if _has_nothing_else(target, after=_PRUNE):
                    return False
                _link(source, target, contents.files)
                break
            except FileNotFoundError:
                if look + 1 == _LOOKS:
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


def _stem(file: ObjectFile) -> str:
    return file.path.rpartition(".")[0] or file.path


def _link(source: Path, target: Path, files: Iterable[ObjectFile]) -> None:
    for file in files:
        (target / file.path).parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.link(source / file.path, target / file.path)


def _has_nothing_else(path: Path, *, after: GitArgs | None = None) -> bool:
    """Whether the refs lead to every object in the files, and everything to which they lead is there."""
    try:
        if after is not None:
            _run(path, after)
        needed = int(_run(path, _COUNT))
    except GitFailed:
        return False
    loose = sum(1 for _ in path.glob("objects/[0-9a-f][0-9a-f]/*"))
    return needed == loose + sum(_count(index) for index in path.glob("objects/pack/*.idx"))


def _run(path: Path, args: GitArgs) -> bytes:
    # A watchdog would cost several times what git takes for most forks. Alone without a parent git does no harm with what
    # it reads or adds, because the next try begins in another folder; only what works for long, and removes, gets one.
    return run_git(args, git_dir=path, time_limit=_TIME_LIMIT, ends_with_parent=args in (_PRUNE, _REPACK))


def _count(index: Path) -> int:
    """How many objects the pack has; those that are in two packs are counted twice."""
    with index.open("rb") as file:
        file.seek(_COUNT_AT)
        return int.from_bytes(file.read(4))


def _remove_objects(path: Path, *patterns: str) -> None:
    for pattern in patterns:
        for folder in path.glob(f"objects/{pattern}"):
            shutil.rmtree(folder)
            if folder.name == "pack":
                folder.mkdir()
