"""A cache of recently rendered texts.

The HTML depends on the text and its context, not on the reader.
"""

from collections import OrderedDict
from collections.abc import Hashable

from markupsafe import Markup

ROOM = 8_000_000
"""Maximum bytes of cached HTML."""
ENTRY_BYTES = 600
"""Bytes of an entry without its HTML."""


class RenderedTextCache:
    """A cache of HTML by its source text, which evicts the least recently used text.

    HTML is stored as UTF-8, because one rare character makes a str use four bytes for every character.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._html: OrderedDict[Hashable, bytes] = OrderedDict()
        self._room, self._used = room, 0

    def get(self, key: Hashable) -> Markup | None:
        html = self._html.get(key)
        if html is None:
            return None
        self._html.move_to_end(key)
        return Markup(html.decode("utf-8", "surrogatepass"))  # noqa: S704 - it was Markup

    def put(self, key: Hashable, html: Markup) -> None:
        """Store the HTML, unless it is larger than a tenth of the cache."""
        content = html.encode("utf-8", "surrogatepass")
        if _entry_bytes(content) > self._room // 10 or key in self._html:
            return
        self._html[key] = content
        self._used += _entry_bytes(content)
        while self._used > self._room:
            self._used -= _entry_bytes(self._html.popitem(last=False)[1])


def _entry_bytes(content: bytes) -> int:
    return len(content) + ENTRY_BYTES
