"""Commits as plain values: persons, times, messages.

Commit objects contain arbitrary bytes from a pusher. These functions return valid Unicode and valid times, so
a malicious commit cannot break a JSON response.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache

import pygit2

from ingot_git.process.errors import ObjectNotFound
from ingot_git.refs.refs import is_object_id

_MAX_SECONDS = 253_000_000_000  # some months before the year 10000, safe in every time zone
_MAX_OFFSET = 24 * 60 - 1
_TEXT_ENCODING = re.compile(
    r"iso-?8859-?\d+|latin-?1|(windows-|cp)125\d|koi8-[ru]|gbk|gb2312|gb18030|big5|euc-(jp|kr)|shift_jis",
    re.IGNORECASE,
)
# Like split_ident_line() of git: the name, the first pair of brackets, and after the last bracket a time, if
# it has a zone.
_IDENT = re.compile(rb"([^<]*)<([^>]*)>(?:.*>)?(?:[ \t\r]*([0-9]+)[ \t\r]*([+-][0-9]+))?")
_LONGEST_NUMBER = 19
"""Maximum digits of a time."""
_TRIMMED = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
"""git strips these characters from both ends of names and addresses in new commits."""
_NOT_IN_A_NAME = re.compile(r"[<>\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Person:
    """An author or committer. `when` has the time zone of the commit."""

    name: str
    email: str
    when: datetime


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit as plain values. `omitted` counts the characters that were cut from its texts."""

    oid: str
    message: str
    author: Person
    committer: Person
    parents: tuple[str, ...]
    tree: str
    omitted: int = 0


Clip = Callable[[CommitInfo], CommitInfo]
"""Shortens the texts of a commit. A list clips each commit, so it holds only one complete text."""


def whole(info: CommitInfo) -> CommitInfo:
    """Return the commit unchanged. This is the Clip without limits."""
    return info


def commit_info(repo: pygit2.Repository, oid: str) -> CommitInfo:
    """Return the commit with this full id.

    Raises:
        ObjectNotFound: the object does not exist, or is not a commit.
    """
    return describe(find_commit(repo, oid))


def find_commit(repo: pygit2.Repository, oid: str) -> pygit2.Commit:
    """Return the commit object with this full id. Raises ObjectNotFound."""
    commit: object = repo.get(oid) if is_object_id(oid) else None
    if not isinstance(commit, pygit2.Commit):
        raise ObjectNotFound("no such commit")
    return commit


def describe(commit: pygit2.Commit) -> CommitInfo:
    """Return the values of a commit object like git shows them; libgit2 would trim names and messages."""
    # For git the text ends at the first NUL.
    head, _, message = commit.read_raw().partition(b"\0")[0].partition(b"\n\n")
    encoding = commit.message_encoding
    return CommitInfo(
        oid=str(commit.id),
        message=_text(message, encoding),
        author=person_in(head, b"author", encoding),
        committer=person_in(head, b"committer", encoding),
        parents=tuple(str(parent) for parent in commit.parent_ids),
        tree=str(commit.tree_id),
    )


def signature(person: Person) -> pygit2.Signature:
    """Return a signature of a person that git accepts for any profile.

    Name and address are trimmed like in git, have no brackets or control characters, and are never empty.
    """
    name = _NOT_IN_A_NAME.sub(" ", person.name).strip(_TRIMMED) or "unknown"
    email = _NOT_IN_A_NAME.sub("", person.email).strip(_TRIMMED) or "unknown@localhost"
    offset = person.when.utcoffset() or timedelta()
    seconds = int(person.when.timestamp())
    return pygit2.Signature(name, email, seconds, int(offset.total_seconds()) // 60, "utf-8")


def person_in(head: bytes, field: bytes, encoding: str | None = None) -> Person:
    """Parse a person in the head of a commit or tag like git. A missing person has empty texts."""
    at = head.find(b"\n" + field + b" ")
    line = head[at + len(field) + 2 :].partition(b"\n")[0] if at >= 0 else b""
    match = _IDENT.match(line)
    if match is None:
        return Person("", "", _moment(0, 0))
    zone = int(match[4][:_LONGEST_NUMBER]) if match[4] else 0
    offset = (abs(zone) // 100 * 60 + abs(zone) % 100) * (-1 if zone < 0 else 1)
    when = _moment(int(match[3][:_LONGEST_NUMBER]) if match[3] else 0, offset)
    return Person(_text(match[1].rstrip(b" \t\r"), encoding), _text(match[2], encoding), when)


def _moment(seconds: int, offset: int) -> datetime:
    """Return a time with ``offset`` in minutes; an invalid offset is treated as UTC."""
    zone = _zone(offset if abs(offset) <= _MAX_OFFSET else 0)
    return datetime.fromtimestamp(min(max(seconds, 0), _MAX_SECONDS), zone)


@cache
def _zone(minutes: int) -> timezone:
    """Return the time zone of an offset in minutes.

    Cached, because creating a time zone is the slowest step of reading an author or committer.
    """
    return timezone(timedelta(minutes=minutes))


def _text(raw: bytes, encoding: str | None) -> str:
    # The encoding header is arbitrary text, too, and not every codec of Python is safe on malicious input.
    is_safe = encoding is not None and _TEXT_ENCODING.fullmatch(encoding) is not None
    try:
        return raw.decode(encoding if is_safe and encoding else "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")
