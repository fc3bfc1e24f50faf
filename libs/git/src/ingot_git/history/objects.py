"""Reads files at a commit, writes a first commit, and tests if a commit is visible.

Paths are entries of trees, never files of the machine: nothing is checked out and no link is followed.
"""

import heapq
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType

from ingot_git.history.commits import Person, find_commit
from ingot_git.history.new_objects import Signer, create_commit
from ingot_git.history.reachability import any_contains, contains
from ingot_git.process.command import GitArgs
from ingot_git.process.disk import writing
from ingot_git.process.errors import InvalidName, ObjectNotFound, RepositoryDamaged
from ingot_git.process.streaming import stream_git
from ingot_git.refs.ref_files import raw_refs
from ingot_git.refs.refs import (
    BRANCHES,
    ZERO_OID,
    RefChange,
    is_object_id,
    is_valid_ref_name,
    move_ref,
)
from ingot_git.refs.trees import IGNORED_BY_HFS
from ingot_git.storage.scratch import staged

VISIBLE_REFS = ("refs/heads/", "refs/tags/", "refs/pull/", "refs/notes/")
"""Refs whose history is visible to all users who may read the repository."""
MOST_HISTORIES = 10_000
"""Maximum number of refs whose history is searched; of others only the tip is visible by id."""

_PREFIXES = tuple(prefix.encode() for prefix in VISIBLE_REFS)
_FILE_MODES = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE, FileMode.LINK)
_PULL = re.compile(rb"refs/pull/(closed/)?([0-9]{1,18})/")
# Names that some file systems treat as `.git` (git-config(1), core.protectHFS and core.protectNTFS): by case,
# trailing dots and spaces, the 8.3 form, streams, and code points that HFS+ ignores.
_DOT_GIT = re.compile(r"(\.git|git~\d+)[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)
_NEVER_IN_A_FILE_NAME = re.compile(r"[\x00-\x1f\x7f\\]")


@dataclass(frozen=True, slots=True)
class Blob:
    """A file at a commit.

    Args:
        oid: blob id.
        size: bytes.
        mode: 0o100644, 0o100755, or 0o120000 for a symbolic link (the content is its target).
        data: the content; None if it exceeds the limit of the reader (`stream_blob` reads it).
    """

    oid: str
    size: int
    mode: int
    data: bytes | None


def read_blob(repo: pygit2.Repository, commit: str, path: str, *, max_bytes: int) -> Blob:
    """Return the file at a path of a commit. Reading holds the interpreter lock: use a small `max_bytes`.

    Args:
        repo: the bare repository.
        commit: full commit id.
        path: segments joined by `/`; no other spelling of the same path is accepted.
        max_bytes: the content is read up to this size.

    Raises:
        ObjectNotFound: the commit or the path does not exist, or the path is a directory or a submodule.
    """
    if not _is_encodable(path):
        raise ObjectNotFound("no such file")
    entry: pygit2.Object = find_commit(repo, commit).tree
    for segment in path.split("/"):
        if not isinstance(entry, pygit2.Tree) or not segment or "\0" in segment:
            raise ObjectNotFound("no such file")
        try:
            entry = entry / segment
        except KeyError:
            if entry.id not in repo:
                raise RepositoryDamaged("the object of a folder is missing") from None
            raise ObjectNotFound("no such file") from None
    if entry.filemode not in _FILE_MODES:
        raise ObjectNotFound("not a file")
    # Read only the header: a large blob must not be read to get its size.
    _, size = repo.odb.read_header(entry.id)
    data = repo.odb.read(entry.id)[1] if size <= max_bytes else None
    return Blob(str(entry.id), size, int(entry.filemode), data)


def stream_blob(
    path: Path, oid: str, *, time_limit: float = 600.0, max_memory: int | None = None
) -> AsyncGenerator[bytes, None]:
    """Yield the content of a blob of any size. Close the generator to stop.

    Args:
        path: the bare repository.
        oid: full blob id, as from `read_blob`.
        time_limit: seconds.
        max_memory: see `spawn`; git holds a deltified blob completely in memory.

    Raises:
        InvalidName: immediately, if ``oid`` is not an object id.
        GitFailed: while iterating, if the blob does not exist.
    """
    if not is_object_id(oid):
        raise InvalidName("not an object id")
    args = GitArgs("cat-file", (), ("blob", oid))
    return stream_git(args, git_dir=path, time_limit=time_limit, max_memory=max_memory)


def is_safe_file_path(path: str) -> bool:
    """True if a file may be written at this path. It is relative, and no segment means `.git`."""
    plain = _is_encodable(path) and _NEVER_IN_A_FILE_NAME.search(path) is None
    return plain and all(_is_safe_segment(part) for part in path.split("/"))


def _is_encodable(path: str) -> bool:
    """True if a path has no lone surrogates, which trees cannot contain."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_safe_segment(part: str) -> bool:
    return part not in ("", ".", "..") and _DOT_GIT.fullmatch(IGNORED_BY_HFS.sub("", part)) is None


def initial_commit(
    repo: pygit2.Repository,
    branch: str,
    files: Mapping[str, bytes],
    author: Person,
    *,
    message: str = "Initial commit\n",
    signer: Signer | None = None,
) -> str:
    """Write files as the first commit of a new branch. Return its id.

    Raises:
        InvalidName: a path or the branch name is invalid; nothing was written.
        RefMoved: the branch exists.
    """
    if not is_valid_ref_name(branch):
        raise InvalidName("not a branch name")
    for path in files:
        if not is_safe_file_path(path):
            raise InvalidName(f"not a file path: {path!r}")
    index = pygit2.Index()
    with staged(repo) as view:
        with writing():
            for path, content in files.items():
                index.add(pygit2.IndexEntry(path, view.create_blob(content), FileMode.BLOB))
            tree = index.write_tree(view)
        oid = create_commit(
            view, author=author, committer=author, message=message, tree=tree, parents=[], signer=signer
        )
        view.keep(oid)
    move_ref(repo, RefChange(BRANCHES + branch, ZERO_OID, oid))
    return oid


def is_reachable(repo: pygit2.Repository, commit: str, prefixes: Sequence[str] = VISIBLE_REFS) -> bool:
    """True if a commit is the tip of a ref under `prefixes`, or in the history of `MOST_HISTORIES` refs.

    An annotated tag counts with its commit. Histories of the default branch and open pull requests come
    first.

    A repository has more objects than its visible history, for example of deleted branches. Callers may read
    a commit by id only if this function returns True. It returns False for unknown ids. Internal refs, such
    as refs of comparisons, do not make commits visible.
    """
    target: object = repo.get(commit) if is_object_id(commit) else None
    if not isinstance(target, pygit2.Commit):
        return False
    is_tip = False

    def others() -> Iterator[tuple[bytes, bytes]]:
        nonlocal is_tip
        for name, oid in raw_refs(Path(repo.path), *prefixes):
            if oid == commit.encode():
                is_tip = True
                return
            yield name, oid

    head = repo.lookup_reference("HEAD").raw_target
    refs = heapq.nsmallest(MOST_HISTORIES, others(), key=partial(_rank, head))
    if is_tip:
        return True
    tips: set[str] = set()
    for tip in {oid for _, oid in refs}:
        try:
            tips.add(str(repo[tip.decode()].peel(ObjectType.COMMIT).id))
        except (KeyError, ValueError, pygit2.GitError):
            continue  # a tag of an object that is no commit, or a symbolic ref, whose target is listed, too
        if commit in tips:
            return True
    return any_contains(repo, tips, commit)


def tip_to_hide(repo: pygit2.Repository, tip: str, head: str) -> str:
    """Return ``tip`` if a walk from ``head`` may hide the history of ``tip``; otherwise an empty text.

    The walk may hide it if ``tip`` is visible and does not contain ``head``.
    """
    return tip if is_reachable(repo, tip) and not contains(repo, tip, head) else ""


def _rank(head: object, ref: tuple[bytes, bytes]) -> tuple[int, int, bytes]:
    """Return the sort key of a ref, so the most requested histories come first.

    ``head`` is the full name of the default branch.
    """
    name = ref[0]
    if name == head:
        return (0, 0, name)
    if pull := _PULL.match(name):
        return (4 if pull[1] else 1, -int(pull[2]), name)
    kind = next((place for place, prefix in enumerate(_PREFIXES) if name.startswith(prefix)), len(_PREFIXES))
    return (2 + kind, 0, name)
