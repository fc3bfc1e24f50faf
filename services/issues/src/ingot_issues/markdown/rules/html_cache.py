"""A cache of rendered HTML, bounded in bytes."""

from collections.abc import Hashable
from hashlib import sha256
from threading import Lock

from cachetools import LRUCache

LARGEST_SHARE = 10
"""The largest share of the cache for an entry is 1 / this. A larger entry would evict many others."""
ENTRY_BYTES = 600
"""Bytes that an entry takes in addition to its HTML."""


class HtmlCache:
    """An LRU cache of HTML by text and other inputs.

    It is thread-safe. Entries are stored as UTF-8: in a str, one rare character makes all others take four
    bytes.
    """

    def __init__(self, room: int) -> None:
        self._html: LRUCache[Hashable, bytes] = LRUCache(room, getsizeof=_entry_bytes)
        self._lock = Lock()

    def get(self, text: str, *others: Hashable) -> str | None:
        with self._lock:
            html = self._html.get(_key(text, others))
        return html.decode("utf-8", "surrogatepass") if html is not None else None

    def put(self, html: str, text: str, *others: Hashable) -> None:
        content = html.encode("utf-8", "surrogatepass")
        if _entry_bytes(content) * LARGEST_SHARE <= self._html.maxsize:
            with self._lock:
                self._html[_key(text, others)] = content


def _entry_bytes(content: bytes) -> int:
    return len(content) + ENTRY_BYTES


def _key(text: str, others: tuple[Hashable, ...]) -> Hashable:
    return sha256(text.encode("utf-8", "surrogatepass")).digest(), others
