"""Tags: lists, single tags, and annotated tags as objects."""

import contextlib
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pygit2
from pygit2.enums import ObjectType

from ingot_git.history.commits import CommitInfo, Person, commit_info, person_in
from ingot_git.history.signatures import CommitSignature, tag_signature
from ingot_git.process.errors import ObjectNotFound, RefNotFound
from ingot_git.refs.refs import TAGS, each_ref, is_object_id, ref_target
from ingot_git.refs.tag_targets import commit_of, next_object
from ingot_git.storage.read_cache import SharedCache


@dataclass(frozen=True, slots=True)
class TagInfo:
    """A tag of a commit. ``oid`` is the id of the tag object, or of the commit for a lightweight tag.

    ``message`` also comes from the tag object, or from the commit.
    """

    name: str
    oid: str
    message: str
    commit: CommitInfo


@dataclass(frozen=True, slots=True)
class AnnotatedTag:
    """A tag object. ``kind`` is the type of its target."""

    oid: str
    name: str
    message: str
    target: str
    kind: str
    tagger: Person
    signature: CommitSignature | None


def page_of_tags(
    repo: pygit2.Repository,
    *,
    part: str,
    offset: int,
    limit: int,
    times: SharedCache[int],
    clip: Callable[[TagInfo], TagInfo],
) -> tuple[list[TagInfo], int]:
    """Return a page of the tags of commits, latest first, clipped by ``clip``, and the number of tags.

    Only tags whose names contain ``part`` are listed and counted, ignoring case.
    """
    total = 0

    def each_tag() -> Iterator[tuple[int, str, str]]:
        nonlocal total
        for name, oid in each_ref(repo, TAGS):
            if part and part.casefold() not in name.removeprefix(TAGS).casefold():
                continue
            time = times.get(oid)
            if time is None:
                time = _time(repo, oid)
                times.put(oid, time)
            if time >= 0:
                total += 1
                yield -time, name, oid

    page = heapq.nsmallest(offset + limit, each_tag())[offset:]
    return [clip(_info(repo, name.removeprefix(TAGS), oid)) for _, name, oid in page], total


def get_tag(repo: pygit2.Repository, name: str) -> TagInfo:
    """Return the tag with this short name.

    Raises RefNotFound if it is missing or does not point to a commit.
    """
    oid = ref_target(repo, TAGS + name)
    if oid is None or _time(repo, oid) < 0:
        raise RefNotFound("no such tag")
    return _info(repo, name, oid)


def annotated_tag(repo: pygit2.Repository, oid: str) -> AnnotatedTag:
    """Return the tag object with this id (full), if a tag ref reaches it. Raises ObjectNotFound."""
    tag: object = repo.get(oid) if is_object_id(oid) else None
    if not isinstance(tag, pygit2.Tag) or not is_tagged(repo, oid):
        raise ObjectNotFound("no such tag")
    raw = tag.read_raw()
    return AnnotatedTag(
        oid=oid,
        name=(tag.raw_name or b"").decode("utf-8", "replace"),
        message=_message(raw),
        target=str(tag.target),
        kind=_kind(raw),
        tagger=person_in(raw.partition(b"\n\n")[0], b"tagger"),
        signature=tag_signature(raw),
    )


def _info(repo: pygit2.Repository, name: str, oid: str) -> TagInfo:
    tag: object = repo.get(oid)
    commit = commit_of(repo, oid)
    if commit is None:
        raise RefNotFound("no such tag")
    info = commit_info(repo, commit)
    message = _message(tag.read_raw()) if isinstance(tag, pygit2.Tag) else info.message
    return TagInfo(name, oid, message.strip(), info)


def _message(raw: bytes) -> str:
    """Return the message of a tag object without its signature."""
    signed = tag_signature(raw)
    return (signed.payload if signed else raw).partition(b"\n\n")[2].decode("utf-8", "replace")


def _time(repo: pygit2.Repository, oid: str) -> int:
    """Return the time of the tagger, or else of the commit, in seconds; -1 if the tag has no commit."""
    commit = commit_of(repo, oid)
    if commit is None:
        return -1
    tag: object = repo.get(oid)
    if isinstance(tag, pygit2.Tag) and tag.tagger is not None:
        return max(tag.tagger.time, 0)
    target: object = repo.get(commit)
    return max(target.commit_time, 0) if isinstance(target, pygit2.Commit) else -1


def is_tagged(repo: pygit2.Repository, oid: str) -> bool:
    """True if a tag ref reaches the tag object with this id (full)."""
    visited: set[str] = set()
    for _, target in each_ref(repo, TAGS):
        at = target
        while at not in visited:
            if at == oid:
                return True
            visited.add(at)
            with contextlib.suppress(KeyError, pygit2.GitError):  # missing or damaged
                if repo.odb.read_header(at)[0] == ObjectType.TAG:
                    at = next_object(repo, at)
    return False


def _kind(raw: bytes) -> str:
    """Return the target type of a tag object, which is in its second line, such as `type commit`."""
    lines = raw.split(b"\n", 2)
    return lines[1].removeprefix(b"type ").decode("ascii", "replace") if len(lines) > 1 else ""
