"""A cache of the watchers of repositories.

Jobs of one process that wait at the same time share one call to repos. A cached response is used for events
that happened before the call, by more than MAX_CLOCK_SKEW.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from weakref import WeakValueDictionary

from cachetools import LRUCache

from ingot_chassis.clock import now
from ingot_chassis.errors import NotFound
from ingot_issues.clients.repos import HttpRepos

ROOM = 250_000
"""Capacity of the cache in people. Each takes some 40 bytes, so all take 10 MB."""
ENTRY_PEOPLE = 10
"""The overhead of an entry, in people."""
MAX_CLOCK_SKEW = timedelta(seconds=5)
"""The largest difference in seconds between the clocks of two processes."""


class _Answer(NamedTuple):
    asked_at: datetime
    tick: float
    """The time of the response on this process's monotonic clock."""
    ids: Sequence[int]


def _size(answer: _Answer) -> int:
    return len(answer.ids) + ENTRY_PEOPLE


class Watchers:
    """A cache of the watchers of repositories. The least recently used entry is evicted first."""

    def __init__(self, repos: HttpRepos, *, clock: Callable[[], datetime] = now, room: int = ROOM) -> None:
        self._repos, self._clock = repos, clock
        self._answers: LRUCache[int, _Answer] = LRUCache(room, getsizeof=_size)
        self._locks = WeakValueDictionary[int, asyncio.Lock]()

    async def ids(self, repository_id: int, at: datetime) -> Sequence[int]:
        """Return the ids of the watchers of a repository for an event.

        ``at`` is the time of the event on another process's clock. A cached response is used if its request
        was sent after the event, even if the clocks differ by MAX_CLOCK_SKEW. A response to a request sent
        after this call is used as well.
        """
        called = time.monotonic()
        async with self._locks.setdefault(repository_id, asyncio.Lock()):
            answer = self._answers.get(repository_id)
            if answer is None or (answer.asked_at - MAX_CLOCK_SKEW < at and answer.tick < called):
                answer = await self._ask(repository_id)
                if _size(answer) <= self._answers.maxsize:
                    self._answers[repository_id] = answer
        return answer.ids

    async def _ask(self, repository_id: int) -> _Answer:
        await asyncio.sleep(0)  # jobs that were claimed together call before one of them sends a request
        asked_at, tick = self._clock(), time.monotonic()
        try:
            return _Answer(asked_at, tick, await self._repos.watchers(repository_id))
        except NotFound:  # an older release of repos
            return _Answer(asked_at, tick, [])
