"""In-process caches of data that was read from commits and trees.

Keys start with an object id. Objects are immutable, so entries never expire. Callers must check the
permissions before each use.
"""

import threading
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

_T = TypeVar("_T")

ENTRIES = 200_000
"""Maximum entries (paths, commits, counts) per cache, about 40 MB."""


class SharedCache(Generic[_T]):
    """A thread-safe LRU cache."""

    def __init__(self, most: int = ENTRIES) -> None:
        self._values: LRUCache[Any, tuple[int, _T]] = LRUCache(most, getsizeof=lambda pair: pair[0])
        self._lock = threading.Lock()
        self._most = most

    def get(self, key: object) -> _T | None:
        with self._lock:
            pair = self._values.get(key)
        return None if pair is None else pair[1]

    def put(self, key: object, value: _T, *, size: int = 1) -> None:
        """Cache ``value``, which counts as ``size`` entries. Skip it if it exceeds a quarter of the cache."""
        if size <= self._most // 4:
            with self._lock:
                self._values[key] = (size, value)


class ReadCache:
    """The read caches of one process. The modules that use a cache document its content."""

    def __init__(self) -> None:
        self.last_changes: SharedCache[dict[str, str]] = SharedCache()
        self.histories: SharedCache[Any] = SharedCache(20_000)
        self.tips: SharedCache[Any] = SharedCache(8_000_000)  # bytes
        self.totals: SharedCache[int] = SharedCache()
        self.file_changes: SharedCache[Any] = SharedCache()
        self.folders: SharedCache[Any] = SharedCache()
        self.listings: SharedCache[Any] = SharedCache()
        self.blob_sizes: SharedCache[dict[str, int]] = SharedCache()
        self.module_urls: SharedCache[dict[str, str]] = SharedCache()
        self.tag_times: SharedCache[int] = SharedCache()
        self.blames: SharedCache[Any] = SharedCache(50_000)
        self.comparisons: SharedCache[Any] = SharedCache(20_000)
        self.changed_files: SharedCache[Any] = SharedCache()
        self.diffs: SharedCache[tuple[bytes, int]] = SharedCache(16_000_000)  # bytes
        self.languages: SharedCache[dict[str, int]] = SharedCache()
        self.verdicts: SharedCache[bool] = SharedCache(20_000)
        self.hidden_objects: SharedCache[bool] = SharedCache()
        self.tree_objects: SharedCache[frozenset[bytes]] = SharedCache(2 * ENTRIES + 4)
