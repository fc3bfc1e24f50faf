"""Texts that were rendered lately. The same text in the same place is always the same HTML, whoever reads it."""

from collections import OrderedDict
from collections.abc import Hashable

from markupsafe import Markup

ROOM = 8_000_000
"""Characters of HTML that are kept."""


class RenderedTextCache:
    """HTML by what it was made of, the least recently used first to go."""

    def __init__(self, room: int = ROOM) -> None:
        self._html: OrderedDict[Hashable, Markup] = OrderedDict()
        self._room, self._used = room, 0

    def get(self, key: Hashable) -> Markup | None:
        html = self._html.get(key)
        if html is not None:
            self._html.move_to_end(key)
        return html

    def put(self, key: Hashable, html: Markup) -> None:
        """Nothing, if it takes more than a tenth of the room."""
        if len(html) > self._room // 10 or key in self._html:
            return
        self._html[key] = html
        self._used += len(html)
        while self._used > self._room:
            self._used -= len(self._html.popitem(last=False)[1])
