"""How long texts and lists may be: what a request may store, and what of it an event carries.

A text that is too long for storage is refused with 422, which names the field and the limit. A stored text that is
too long for an event is clipped in the event only; the event counts what was left out, and the API of the owner
has the whole. NATS refuses messages above its ``max_payload``, 1 MiB by default: with these sizes an event stays
below ``EVENT_BYTES``, whatever is stored.
"""

import re
from typing import Annotated

import msgspec

NAME_CHARACTERS = 255
DESCRIPTION_CHARACTERS = 2_000
TEXT_CHARACTERS = 65_536
BODY_CHARACTERS = 1_000_000
EMAIL_CHARACTERS = 254
EMAIL = re.compile(r"[^@\s<>\"(),:;\\\[\]]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
"""What an address looks like, of an account and of the author of a commit."""

Name = Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS)]
"""A name, a title, a single line, or a path."""
Description = Annotated[str, msgspec.Meta(max_length=DESCRIPTION_CHARACTERS)]
"""A few sentences, a reason, or a URL."""
Text = Annotated[str, msgspec.Meta(max_length=TEXT_CHARACTERS)]
"""Some pages: the description of a milestone, the message of a merge, a public key."""
Body = Annotated[str, msgspec.Meta(max_length=BODY_CHARACTERS)]
"""The notes of a release. Bodies of issues and comments are parsed, and shorter: `Markdown` of issues."""

CONTENT_BYTES = 10 * 1024 * 1024
"""Of one file whose content an answer of the API carries, and of all files in one answer."""
TREE_ENTRIES = 1_000
"""Entries of a git tree on one page."""

EVENT_BYTES = 900_000
EVENT_NAME_BYTES = 1_000
EVENT_MESSAGE_BYTES = 8_000
EVENT_TEXT_BYTES = 16_000
EVENT_BODY_BYTES = 128_000
EVENT_PATH_BYTES = 300_000
"""For the paths of all commits of one push together."""
EVENT_LABELS = 100
EVENT_ASSETS = 100
EVENT_COMMITS = 20
ASSIGNEES = 10
"""People to whom an issue is assigned, or who are asked to review it, at most; an event has all of them."""


class Omitted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much an event leaves out: characters of texts, paths of commits, labels, files of a release.

    The owner's API has all of it.
    """

    characters: int = 0
    paths: int = 0
    labels: int = 0
    assets: int = 0


def encoded_bytes(text: str) -> int:
    """How many bytes ``text`` takes in an event: as JSON, without its quotes."""
    return len(msgspec.json.encode(text)) - 2


def clip(text: str, most_bytes: int) -> str:
    """The longest start of ``text`` that takes at most ``most_bytes`` in an event; never half a character."""
    start = text[:most_bytes]
    if (
        len(start) * 6 <= most_bytes or encoded_bytes(start) <= most_bytes
    ):  # JSON writes one as six bytes at most
        return start
    shortest, longest = most_bytes // 6, len(start)
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if encoded_bytes(start[:middle]) <= most_bytes:
            shortest = middle
        else:
            longest = middle - 1
    return start[:shortest]
