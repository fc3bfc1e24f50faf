"""Commits as values: who, when, what message.

Commit objects have any bytes that a pusher wrote. These functions return valid Unicode and times that can be
represented, so that no hostile commit can break a JSON answer.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache

import pygit2
from pygit2.enums import SortMode

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
    """An author or committer; `when` has the time zone of the commit."""

    name: str
    email: str
    when: datetime


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit as plain values; `omitted` counts the characters by which its texts were cut."""

    oid: str
    message: str
    author: Person
    committer: Person
    parents: tuple[str, ...]
    tree: str
    omitted: int = 0


Clip = Callable[[CommitInfo], CommitInfo]
"""Cuts the texts of a commit. A list applies it to each, so that one commit at a time is in memory with its whole texts."""


def whole(info: CommitInfo) -> CommitInfo:
    """The Clip that cuts nothing."""
    return info


def commit_info(repo: pygit2.Repository, oid: str) -> CommitInfo:
    """The commit with this full id.

    Raises:
        ObjectNotFound: no such object, or not a commit.
    """
    return describe(find_commit(repo, oid))


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
    commit: object = repo.get(oid) if is_object_id(oid) else None
    if not isinstance(commit, pygit2.Commit):
        raise ObjectNotFound("no such commit")
    return commit


def describe(commit: pygit2.Commit) -> CommitInfo:
    """The values of a commit object."""
    return CommitInfo(
        oid=str(commit.id),
        message=_text(commit.raw_message, commit.message_encoding),
        author=person_of(commit.author, commit.message_encoding),
        committer=person_of(commit.committer, commit.message_encoding),
        parents=tuple(str(parent) for parent in commit.parent_ids),
        tree=str(commit.tree_id),
    )


def signature(person: Person) -> pygit2.Signature:
    """A signature that git accepts, for any profile: no brackets or control characters, never empty."""
    name = _NOT_IN_A_NAME.sub(" ", person.name).strip(" .,:;\"'") or "unknown"
    email = _NOT_IN_A_NAME.sub("", person.email).strip() or "unknown@localhost"
    offset = person.when.utcoffset() or timedelta()
    seconds = int(person.when.timestamp())
    return pygit2.Signature(name, email, seconds, int(offset.total_seconds()) // 60, "utf-8")


def person_of(raw: pygit2.Signature, encoding: str | None = None) -> Person:
    """Who a commit or tag names; ``encoding`` is that of its texts."""
    offset = raw.offset if abs(raw.offset) <= _MAX_OFFSET else 0
    seconds = min(max(raw.time, 0), _MAX_SECONDS)
    when = datetime.fromtimestamp(seconds, _zone(offset))
    return Person(_text(raw.raw_name, encoding), _text(raw.raw_email, encoding), when)


@cache
def _zone(minutes: int) -> timezone:
    """One object for each offset: creating it costs more than the rest of a person."""
    return timezone(timedelta(minutes=minutes))


def _text(raw: bytes, encoding: str | None) -> str:
    # The encoding header is free text as well, and not every codec of Python is safe on hostile input.
    is_safe = encoding is not None and _TEXT_ENCODING.fullmatch(encoding) is not None
    try:
        return raw.decode(encoding if is_safe and encoding else "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")
