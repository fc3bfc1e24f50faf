"""Who watches repositories, as repos answered lately: of jobs that wait longer than clocks differ one asks.

So it is of jobs of one process that wait for an answer at the same time.
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
"""People who are remembered, of all repositories together. Each takes some 40 bytes, so all take 10 MB."""
ENTRY_PEOPLE = 10
"""What a repository takes beside its watchers, in people."""
LONGEST_SKEW = timedelta(seconds=5)
"""By how much the clocks of two processes may differ."""


class _Answer(NamedTuple):
    asked_at: datetime
    tick: float
    """The same by the clock of this process that is never set."""
    ids: Sequence[int]


def _size(answer: _Answer) -> int:
    return len(answer.ids) + ENTRY_PEOPLE


class Watchers:
    """The watchers of repositories, the least recently used first to go."""

    def __init__(self, repos: HttpRepos, *, clock: Callable[[], datetime] = now, room: int = ROOM) -> None:
        self._repos, self._clock = repos, clock
        self._answers: LRUCache[int, _Answer] = LRUCache(room, getsizeof=_size)
        self._locks = WeakValueDictionary[int, asyncio.Lock]()

    async def ids(self, repository_id: int, at: datetime) -> Sequence[int]:
        """Who watches a repository, for what happened ``at`` that time by the clock of another process.

        One answer does for all that happened before it was asked for, by whatever clock, and for all who called before.
        """
        called = time.monotonic()
        async with self._locks.setdefault(repository_id, asyncio.Lock()):
            answer = self._answers.get(repository_id)
            if answer is None or (answer.asked_at - LONGEST_SKEW < at and answer.tick < called):
                answer = await self._ask(repository_id)
                if _size(answer) <= self._answers.maxsize:
                    self._answers[repository_id] = answer
        return answer.ids

    async def _ask(self, repository_id: int) -> _Answer:
        await asyncio.sleep(0)  # jobs that were claimed together call before one of them asks
        asked_at, tick = self._clock(), time.monotonic()
        try:
            return _Answer(asked_at, tick, await self._repos.watchers(repository_id))
        except NotFound:  # repos is of an older release
            return _Answer(asked_at, tick, [])
