"""Tags: lists of them, single ones, and annotated ones as objects."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pygit2
from pygit2.enums import ObjectType

from ingot_repos.git.commits import CommitInfo, Person, commit_info, person_of, signature
from ingot_repos.git.disk import writing
from ingot_repos.git.errors import ObjectNotFound, RefNotFound
from ingot_repos.git.read_cache import SharedCache
from ingot_repos.git.refs import TAGS, each_ref, is_object_id, ref_target
from ingot_repos.git.signatures import CommitSignature, tag_signature

_DEEPEST = 8
"""Tags of tags that are followed."""


@dataclass(frozen=True, slots=True)
class TagInfo:
    """A tag of a commit. ``oid`` is that of the tag object, of a lightweight tag that of the commit."""

    name: str
    oid: str
    message: str
    commit: CommitInfo


@dataclass(frozen=True, slots=True)
class AnnotatedTag:
    """A tag object. ``kind`` is that of the object it names."""

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
    offset: int,
    limit: int,
    times: SharedCache[int],
    clip: Callable[[TagInfo], TagInfo],
) -> tuple[list[TagInfo], int]:
    """A page of the tags of commits, newest first, their texts cut by ``clip``, and their number."""
    total = 0

    def each_tag() -> Iterator[tuple[int, str, str]]:
        nonlocal total
        for name, oid in each_ref(repo, TAGS):
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
    """The tag with this short name. Raises RefNotFound when there is none, or it is of no commit."""
    oid = ref_target(repo, TAGS + name)
    if oid is None or _time(repo, oid) < 0:
        raise RefNotFound("no such tag")
    return _info(repo, name, oid)


def annotated_tag(repo: pygit2.Repository, oid: str) -> AnnotatedTag:
    """The tag object with this id (full), if a tag leads to it. Raises ObjectNotFound."""
    tag: object = repo.get(oid) if is_object_id(oid) else None
    if not isinstance(tag, pygit2.Tag) or not _is_named(repo, oid):
        raise ObjectNotFound("no such tag")
    raw = tag.read_raw()
    signed = tag_signature(raw)
    message = (signed.payload if signed else raw).partition(b"\n\n")[2]
    return AnnotatedTag(
        oid=oid,
        name=(tag.raw_name or b"").decode("utf-8", "replace"),
        message=message.decode("utf-8", "replace"),
        target=str(tag.target),
        kind=_kind(raw),
        tagger=person_of(tag.tagger) if tag.tagger else Person("", "", datetime(1970, 1, 1, tzinfo=UTC)),
        signature=signed,
    )


def write_tag(repo: pygit2.Repository, name: str, commit: str, message: str, tagger: Person) -> str:
    """The id of a new tag object of a commit (full id); no ref leads to it yet."""
    who = signature(tagger)
    sign = "-" if who.offset < 0 else "+"
    zone = f"{sign}{abs(who.offset) // 60:02}{abs(who.offset) % 60:02}"
    text = f"object {commit}\ntype commit\ntag {name}\ntagger {who.name} <{who.email}> {who.time} {zone}\n\n{message}\n"
    with writing():
        return str(repo.odb.write(ObjectType.TAG, text.encode()))


def _info(repo: pygit2.Repository, name: str, oid: str) -> TagInfo:
    tag: object = repo.get(oid)
    commit = _commit(repo, oid)
    if commit is None:
        raise RefNotFound("no such tag")
    info = commit_info(repo, commit)
    message = (
        (tag.raw_message or b"").decode("utf-8", "replace") if isinstance(tag, pygit2.Tag) else info.message
    )
    return TagInfo(name, oid, message.strip(), info)


def _time(repo: pygit2.Repository, oid: str) -> int:
    """When a tag was made: seconds of the tagger, else of the commit; -1 if it is of no commit."""
    commit = _commit(repo, oid)
    if commit is None:
        return -1
    tag: object = repo.get(oid)
    if isinstance(tag, pygit2.Tag) and tag.tagger is not None:
        return max(tag.tagger.time, 0)
    target: object = repo.get(commit)
    return max(target.commit_time, 0) if isinstance(target, pygit2.Commit) else -1


def _commit(repo: pygit2.Repository, oid: str) -> str | None:
    """The commit that a tag leads to."""
    for _ in range(_DEEPEST):
        target: object = repo.get(oid)
        if isinstance(target, pygit2.Commit):
            return oid
        if not isinstance(target, pygit2.Tag):
            return None
        oid = str(target.target)
    return None


def _is_named(repo: pygit2.Repository, oid: str) -> bool:
    """Whether a ref of a tag leads to a tag object."""
    for _, target in each_ref(repo, TAGS):
        at = target
        for _ in range(_DEEPEST):
            if at == oid:
                return True
            tag: object = repo.get(at)
            if not isinstance(tag, pygit2.Tag):
                break
            at = str(tag.target)
    return False


def _kind(raw: bytes) -> str:
    """The second line of a tag object: `type commit` and so on."""
    lines = raw.split(b"\n", 2)
    return lines[1].removeprefix(b"type ").decode("ascii", "replace") if len(lines) > 1 else ""
