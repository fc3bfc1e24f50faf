"""Commits as values: who, when, what message, and which files one changed.

Commit objects hold whatever bytes a pusher wrote. Everything here comes out as valid Unicode and as a
representable time, so that no hostile commit can break a JSON answer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache

import pygit2
from pygit2.enums import DeltaStatus, SortMode

from ingot_repos.git.errors import ObjectNotFound
from ingot_repos.git.refs import ZERO_OID, is_object_id

_MAX_SECONDS = 253_000_000_000  # some months before the year 10000, safe in every time zone
_MAX_OFFSET = 24 * 60 - 1
_TEXT_ENCODING = re.compile(
    r"iso-?8859-?\d+|latin-?1|(windows-|cp)125\d|koi8-[ru]|gbk|gb2312|gb18030|big5|euc-(jp|kr)|shift_jis",
    re.IGNORECASE,
)
_NOT_IN_A_NAME = re.compile(r"[<>\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Person:
    """An author or committer; `when` carries the time zone it was written in."""

    name: str
    email: str
    when: datetime


@dataclass(frozen=True, slots=True)
class CommitInfo:
    oid: str
    message: str
    author: Person
    committer: Person
    parents: tuple[str, ...]
    tree: str


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit with the files that differ from its first parent; a rename is a removal and an addition."""

    commit: CommitInfo
    added: tuple[str, ...]
    modified: tuple[str, ...]
    removed: tuple[str, ...]
    truncated: bool


def commit_info(repo: pygit2.Repository, oid: str) -> CommitInfo:
    """The commit with this full id.

    Raises:
        ObjectNotFound: no such object, or not a commit.
    """
    return describe(find_commit(repo, oid))


def commits_between(
    repo: pygit2.Repository, before: str, after: str, limit: int, *, max_files: int = 1000
) -> list[CommitChanges]:
    """Commits that `after` has and `before` has not, newest first, each with its changed files.

    Args:
        repo: the bare repository.
        before: full id; 40 zeros, or an id that is not in the repository, stand for "nothing".
        after: full id; 40 zeros give an empty list.
        limit: most commits to return.
        max_files: most file names per commit; beyond that it is marked as truncated.

    Raises:
        ObjectNotFound: `after` is not a commit of this repository.
    """
    if after == ZERO_OID:
        return []
    return [_with_changes(repo, commit, max_files) for commit in walk(repo, after, hide=before, limit=limit)]


def walk(repo: pygit2.Repository, start: str, *, hide: str = ZERO_OID, limit: int) -> Iterator[pygit2.Commit]:
    """Up to `limit` commits from `start` without those reachable from `hide`, children before parents.

    Raises:
        ObjectNotFound: `start` is not a commit of this repository.
    """
    walker = repo.walk(find_commit(repo, start).id, SortMode.TOPOLOGICAL | SortMode.TIME)
    if isinstance(repo.get(hide), pygit2.Commit):
        walker.hide(hide)
    for _, commit in zip(range(limit), walker, strict=False):
        yield commit


def find_commit(repo: pygit2.Repository, oid: str) -> pygit2.Commit:
    """The commit object of a full id, or `ObjectNotFound`."""
    found: object = repo.get(oid) if is_object_id(oid) else None
    if not isinstance(found, pygit2.Commit):
        raise ObjectNotFound("no such commit")
    return found


def describe(commit: pygit2.Commit) -> CommitInfo:
    return CommitInfo(
        oid=str(commit.id),
        message=_text(commit.raw_message, commit.message_encoding),
        author=_person(commit.author, commit.message_encoding),
        committer=_person(commit.committer, commit.message_encoding),
        parents=tuple(str(parent) for parent in commit.parent_ids),
        tree=str(commit.tree_id),
    )


def signature(person: Person) -> pygit2.Signature:
    """A signature git accepts, whatever the profile says: no brackets or control characters, never empty."""
    name = _NOT_IN_A_NAME.sub(" ", person.name).strip(" .,:;\"'") or "unknown"
    email = _NOT_IN_A_NAME.sub("", person.email).strip() or "unknown@localhost"
    offset = person.when.utcoffset() or timedelta()
    seconds = int(person.when.timestamp())
    return pygit2.Signature(name, email, seconds, int(offset.total_seconds()) // 60, "utf-8")


def _person(found: pygit2.Signature, encoding: str | None) -> Person:
    offset = found.offset if abs(found.offset) <= _MAX_OFFSET else 0
    seconds = min(max(found.time, 0), _MAX_SECONDS)
    when = datetime.fromtimestamp(seconds, _zone(offset))
    return Person(_text(found.raw_name, encoding), _text(found.raw_email, encoding), when)


@cache
def _zone(minutes: int) -> timezone:
    """One object for each offset: making them costs more than all else about a person."""
    return timezone(timedelta(minutes=minutes))


def _text(raw: bytes, encoding: str | None) -> str:
    # The encoding header is free text as well, and not every codec of Python is safe on hostile input.
    known = encoding is not None and _TEXT_ENCODING.fullmatch(encoding) is not None
    try:
        return raw.decode(encoding if known and encoding else "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


def _with_changes(repo: pygit2.Repository, commit: pygit2.Commit, max_files: int) -> CommitChanges:
    if commit.parent_ids:
        parent = repo.get(commit.parent_ids[0])
        # A shallow push may have left the parent out; then nothing is said about files.
        diff = parent.tree.diff_to_tree(commit.tree) if isinstance(parent, pygit2.Commit) else None
    else:
        diff = commit.tree.diff_to_tree(swap=True)
    names: dict[str, list[str]] = {"added": [], "modified": [], "removed": []}
    truncated = False
    for count, delta in enumerate(diff.deltas if diff is not None else ()):
        if count >= max_files:
            truncated = True
            break
        if delta.status == DeltaStatus.ADDED:
            names["added"].append(_path(delta.new_file))
        elif delta.status == DeltaStatus.DELETED:
            names["removed"].append(_path(delta.old_file))
        else:
            names["modified"].append(_path(delta.new_file))
    return CommitChanges(
        commit=describe(commit),
        added=tuple(names["added"]),
        modified=tuple(names["modified"]),
        removed=tuple(names["removed"]),
        truncated=truncated,
    )


def _path(file: pygit2.DiffFile) -> str:
    return file.raw_path.decode("utf-8", "replace")
