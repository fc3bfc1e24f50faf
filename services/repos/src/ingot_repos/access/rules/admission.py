"""Limits on concurrent git processes for fetches, pushes, archives and history searches."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from weakref import WeakValueDictionary

from ingot_chassis.errors import Unavailable

LONGEST_WAIT = 30.0
"""Seconds. It is less than the timeout of the gateway for the first byte of a response."""
ARCHIVES_AT_ONCE, WAITING_ARCHIVES = 2, 14
"""Limits of archives of one caller: running, and waiting. Each may use a whole processor."""
_ALL = 0
"""A key for the limit of the whole process, used in place of a repository id."""


class Admission:
    """Limits of slots: at most ``most``, and ``most_per_repository`` for one repository. 0 means no limit.

    Anonymous callers get half of each limit, because they may be slow and cannot be identified.
    """

    def __init__(self, most: int, most_per_repository: int, *, wait_seconds: float = LONGEST_WAIT) -> None:
        self._most, self._most_per_repository, self.wait_seconds = most, most_per_repository, wait_seconds
        # A semaphore exists while a caller holds one of its slots or waits for one.
        self._semaphores = WeakValueDictionary[tuple[int, bool], asyncio.Semaphore]()

    @asynccontextmanager
    async def slot(self, repository_id: int, *, signed_in: bool, waits: bool = True) -> AsyncIterator[None]:
        """Wait for a slot and hold it inside the block. Raises Unavailable if none becomes free.

        With ``waits=False``, Unavailable is raised at once unless a slot is free. This avoids a deadlock of
        callers that already hold another slot.
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
        """Yield the semaphores to acquire, the smaller limits first.

        So a caller that waits for a smaller limit holds no slot of a larger one.
        """
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


class LongRequests(Admission):
    """A limit on very long fetch requests, which take much memory until git has read them."""

    MOST = 8

    def __init__(self) -> None:
        super().__init__(self.MOST, 0)


async def inside(
    slot: AbstractAsyncContextManager[None], stream: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Yield the output of a git process that starts once it has a slot. Raises the errors of the slot."""
    async with slot, aclosing(stream):
        async for chunk in stream:
            yield chunk
