"""How many gits of fetches, pushes, archives and searches through histories run at once: in one repository, and in the process."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from ingot_chassis.errors import Unavailable

LONG_REQUESTS = 8
"""Requests of fetches that are so long that they take much memory, each with a slot of its own until git has it."""
LONGEST_WAIT = 30.0
"""Seconds; less than the gateway waits for the first byte of an answer."""
_ALL = 0
"""In place of the id of a repository."""


class Admission:
    """``most`` slots, of which one repository has at most ``most_per_repository``; 0: no limit.

    Those who are not signed in have half of either: they may be slow, and nobody knows who they are.
    """

    def __init__(self, most: int, most_per_repository: int, *, wait_seconds: float = LONGEST_WAIT) -> None:
        self._most, self._most_per_repository, self.wait_seconds = most, most_per_repository, wait_seconds
        # One is there for as long as somebody has a slot of it or waits for one.
        self._semaphores = WeakValueDictionary[tuple[int, bool], asyncio.Semaphore]()

    @asynccontextmanager
    async def slot(self, repository_id: int, *, signed_in: bool, waits: bool = True) -> AsyncIterator[None]:
        """A slot inside the block; it is waited for. Raises Unavailable when none becomes free.

        Without ``waits`` one must be free: for whoever has a slot for which others wait with one of these.
        """
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self.wait_seconds if waits else 0):
                    for semaphore in self._needed(repository_id, signed_in=signed_in):
                        await stack.enter_async_context(semaphore)
            except TimeoutError:
                raise Unavailable("too many fetches and pushes run here at once; try again") from None
            yield

    def _needed(self, repository_id: int, *, signed_in: bool) -> Iterator[asyncio.Semaphore]:
        """The smaller ones first, so that nobody waits for one with a slot of a larger one."""
        for holder, most in ((repository_id, self._most_per_repository), (_ALL, self._most)):
            if most and not signed_in:
                yield self._semaphore(holder, max(most // 2, 1), signed_in=False)
            if most:
                yield self._semaphore(holder, most, signed_in=True)

    def _semaphore(self, holder: int, most: int, *, signed_in: bool) -> asyncio.Semaphore:
        semaphore = self._semaphores.get((holder, signed_in))
        if semaphore is None:
            semaphore = self._semaphores[holder, signed_in] = asyncio.Semaphore(most)
        return semaphore
