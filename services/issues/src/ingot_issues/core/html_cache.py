"""HTML that was made lately, bounded in bytes."""

import sys
from collections.abc import Hashable
from hashlib import sha256
from threading import Lock

from cachetools import LRUCache

LARGEST_SHARE = 10
"""What takes more than this part of the room is not kept: it would drive out many others."""
ENTRY_BYTES = 500
"""What an entry takes beside its HTML."""


class HtmlCache:
    """HTML by the text and whatever else it was made of, the least recently used first to go. Threads may share it."""

    def __init__(self, room: int) -> None:
        self._html: LRUCache[Hashable, str] = LRUCache(room, getsizeof=_entry_bytes)
        self._lock = Lock()

    def get(self, text: str, *others: Hashable) -> str | None:
        with self._lock:
            return self._html.get(_key(text, others))

    def put(self, html: str, text: str, *others: Hashable) -> None:
        if _entry_bytes(html) * LARGEST_SHARE <= self._html.maxsize:
            with self._lock:
                self._html[_key(text, others)] = html


def _entry_bytes(html: str) -> int:
    return sys.getsizeof(html) + ENTRY_BYTES


def _key(text: str, others: tuple[Hashable, ...]) -> Hashable:
    return sha256(text.encode("utf-8", "surrogatepass")).digest(), others
