"""Shortened commits for events and lists. Texts in commits have no size limit, but events have one."""

from collections.abc import Sequence
from dataclasses import replace

from ingot_contracts.limits import (
    EVENT_COMMITS,
    EVENT_MESSAGE_BYTES,
    EVENT_NAME_BYTES,
    EVENT_PATH_BYTES,
    EVENT_TEXT_BYTES,
    Omitted,
    clip,
    encoded_bytes,
)
from ingot_git.history.changes import CommitChanges
from ingot_git.history.commits import CommitInfo, Person
from ingot_git.history.push_changes import ReadLimits
from ingot_git.history.tags import TagInfo

QUOTES_AND_COMMA_BYTES = 3
"""Bytes of the quotes and the comma in a list."""


def clip_for_event(info: CommitInfo) -> CommitInfo:
    """Return a commit with its texts shortened for push events."""
    return _clipped(info, EVENT_MESSAGE_BYTES)


def clip_for_list(info: CommitInfo) -> CommitInfo:
    """Return a commit with its texts shortened for lists. Only the route for one commit returns all text."""
    return _clipped(info, EVENT_TEXT_BYTES)


def clip_for_folder(info: CommitInfo) -> CommitInfo:
    """Return a commit shortened for the entries of a folder, which show it as their last change."""
    return _clipped(info, EVENT_NAME_BYTES)


def clip_tag_for_list(tag: TagInfo) -> TagInfo:
    """Return a tag with its texts shortened for lists. Only the route for one tag returns all text."""
    return replace(tag, message=clip(tag.message, EVENT_TEXT_BYTES), commit=clip_for_list(tag.commit))


def omitted_from(commits: Sequence[CommitChanges]) -> Omitted:
    """Return the numbers of characters and paths of these commits that an event omits."""
    return Omitted(
        characters=sum(changes.commit.omitted for changes in commits),
        paths=sum(changes.omitted for changes in commits),
    )


def _clipped(info: CommitInfo, message_bytes: int) -> CommitInfo:
    author, committer = _named(info.author), _named(info.committer)
    message = clip(info.message, message_bytes)
    if message == info.message and author is info.author and committer is info.committer:
        return info
    cut = replace(info, message=message, author=author, committer=committer)
    return replace(cut, omitted=_characters(info) - _characters(cut))


def _named(person: Person) -> Person:
    name, email = clip(person.name, EVENT_NAME_BYTES), clip(person.email, EVENT_NAME_BYTES)
    if name == person.name and email == person.email:
        return person
    return replace(person, name=name, email=email)


def _characters(info: CommitInfo) -> int:
    people = (info.author, info.committer)
    return len(info.message) + sum(len(person.name) + len(person.email) for person in people)


def _size(text: str) -> int:
    return encoded_bytes(text) + QUOTES_AND_COMMA_BYTES


PUSH_EVENT_BOUNDS = ReadLimits(
    size=_size,
    clip=clip_for_event,
    commits=EVENT_COMMITS,
    paths=EVENT_PATH_BYTES,
    texts=8_000_000,
    entries=2_000_000,
)
"""Limits for push events: each ref has its own event, and all events of a push are written at once."""
