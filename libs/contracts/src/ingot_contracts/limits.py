"""Limits of texts and lists: in requests, and in events.

A text that is too long for storage is rejected with 422, which names the field and the limit. A stored text
that is too long for an event is clipped only in the event. The event counts the omitted characters, and the
owner's API returns the complete text. NATS rejects messages above its ``max_payload``, 1 MiB by default. With
these limits an event is always smaller than ``EVENT_BYTES``.
"""

import re
from typing import Annotated

import msgspec

NAME_CHARACTERS = 255
DESCRIPTION_CHARACTERS = 2_000
TEXT_CHARACTERS = 65_536
BODY_CHARACTERS = 1_000_000
EMAIL_CHARACTERS = 254
EMAIL = re.compile(r"[^@\s<>\"(),:;\\\[\]]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
"""E-mail addresses of accounts and of authors of commits. A host may have no domain, such as localhost."""

Name = Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS)]
"""A name, a title, a single line, or a path."""
Description = Annotated[str, msgspec.Meta(max_length=DESCRIPTION_CHARACTERS)]
"""A few sentences, a reason, or a URL."""
Text = Annotated[str, msgspec.Meta(max_length=TEXT_CHARACTERS)]
"""A few pages: the description of a milestone, the message of a merge, a public key."""
Body = Annotated[str, msgspec.Meta(max_length=BODY_CHARACTERS)]
"""The notes of a release.

Bodies of issues and comments are parsed and have a lower limit: `Markdown` of issues.
"""

WEB_URL = msgspec.Meta(pattern=r"^(https?://[^\s\x00-\x20\x7f/?#@\\]+([/?#][^\s\x00-\x20\x7f\\]*)?)?$(?!\n)")
"""A URL that a page links to: empty, or http or https with a host and without credentials.

Other schemes could run scripts in the page, and credentials can hide the real host.
"""


def is_web_url(url: str) -> bool:
    """Return whether a page may link to the URL. Stored URLs may be older than ``WEB_URL``."""
    return bool(url) and re.search(WEB_URL.pattern or "", url) is not None


CONTENT_BYTES = 10 * 1024 * 1024
"""Bytes of one file whose content an API response carries, and of all files in one response."""
TREE_ENTRIES = 1_000
"""Entries of a git tree per page."""

EVENT_BYTES = 900_000
EVENT_NAME_BYTES = 1_000
EVENT_FULL_NAME_BYTES = 600
EVENT_URL_BYTES = 500
EVENT_MESSAGE_BYTES = 8_000
EVENT_TEXT_BYTES = 16_000
EVENT_BODY_BYTES = 128_000
EVENT_PATH_BYTES = 300_000
"""Bytes for the paths of all commits of one push together."""
EVENT_BRANCH_BYTES = NAME_CHARACTERS * 6
"""Fits the name of any branch: a clipped name would name another branch."""
EVENT_ATTACHMENTS = 10
"""Attachments of an issue or comment that an event carries."""
EVENT_LABELS = 100
EVENT_CHANGED_LABELS = 20
"""Added labels, and removed ones, that an event carries."""
EVENT_ASSETS = 100
EVENT_COMMITS = 20
EVENT_WIKI_PAGES = 50
EVENT_PEOPLE = 600
ASSIGNEES = 10
"""Assignees, or requested reviewers, per issue. An event carries all of them."""


def most_bytes(count: int) -> msgspec.Meta:
    """Return the budget of a text in an event, in bytes of JSON. The default is `EVENT_NAME_BYTES`."""
    return msgspec.Meta(extra={"most_bytes": count})


def most_items(count: int) -> msgspec.Meta:
    """Return the budget of a list in an event, in items."""
    return msgspec.Meta(extra={"most_items": count})


EventBody = Annotated[str, most_bytes(EVENT_BODY_BYTES)]
EventText = Annotated[str, most_bytes(EVENT_TEXT_BYTES)]
EventName = Annotated[str, most_bytes(NAME_CHARACTERS * 6)]
"""Fits any ``Name``."""
EventBranch = Annotated[str, most_bytes(EVENT_BRANCH_BYTES)]
EventShortText = Annotated[str, most_bytes(260)]


class Omitted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of items that an event omits.

    Items are characters of texts, paths of commits, labels, and files of a release. The owner's API returns
    all of them.
    """

    characters: int = 0
    paths: int = 0
    labels: int = 0
    assets: int = 0


def encoded_bytes(text: str) -> int:
    """Return the number of bytes of ``text`` in an event: as JSON, without its quotes."""
    return len(msgspec.json.encode(text)) - 2


def clip(text: str, most_bytes: int) -> str:
    """Return the longest prefix of ``text`` that takes at most ``most_bytes`` in an event.

    No character is split.
    """
    start = text[:most_bytes]
    if (
        len(start) * 6 <= most_bytes or encoded_bytes(start) <= most_bytes
    ):  # JSON writes each of these characters as six bytes at most
        return start
    shortest, longest = most_bytes // 6, len(start)
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if encoded_bytes(start[:middle]) <= most_bytes:
            shortest = middle
        else:
            longest = middle - 1
    return start[:shortest]
