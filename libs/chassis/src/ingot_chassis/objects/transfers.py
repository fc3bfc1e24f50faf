"""The transfer of one object to the storage.

The library reads the parts of an object from an iterator, in its own task. If its call were cancelled, S3
would keep the parts that were sent. So the iterator raises an error instead, and the library deletes the
parts.
"""

import asyncio
from collections.abc import AsyncGenerator

import obstore

from ingot_chassis.objects.backends import Backend

HANDED_OVER_BYTES = 256 * 1024
"""Bytes that are passed to the library at once, so small chunks do not each cost a switch of threads."""


class _Abandoned(Exception):
    """An error inside the iterator that makes the library drop the object."""


class Transfer:
    """A transfer of one object: write, then ``finish`` or ``abandon``. At most a few parts are in memory."""

    def __init__(self, backend: Backend, key: str, length: int) -> None:
        """Start the transfer of an object with at most ``length`` bytes."""
        self._waiting = bytearray()
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue(1)
        self._whole = False
        self._sending = asyncio.ensure_future(
            obstore.put_async(
                backend.store,
                key,
                self._iterate(),
                chunk_size=backend.chunk_bytes(length),
                max_concurrency=2,
            )
        )

    async def write(self, chunk: bytes) -> None:
        """Write the next bytes. Waits for a slow storage, and raises its errors."""
        self._waiting += chunk
        if len(self._waiting) >= HANDED_OVER_BYTES:
            await self._hand_over()

    async def finish(self) -> None:
        """Send the rest, and wait until the whole object is stored."""
        await self._hand_over()
        self._whole = True
        await self._offer(None)
        await self._sending

    async def abandon(self) -> None:
        """Stop the transfer, and wait until all its parts are deleted."""
        await asyncio.shield(asyncio.ensure_future(self._take_back()))

    async def _take_back(self) -> None:
        if not self._sending.done():
            await self._offer(None)
            await asyncio.wait({self._sending})
        if not self._sending.cancelled():
            self._sending.exception()

    async def _hand_over(self) -> None:
        if self._waiting:
            part, self._waiting = bytes(self._waiting), bytearray()
            await self._offer(part)

    async def _offer(self, part: bytes | None) -> None:
        """Pass ``part`` to the iterator. If the library has already ended, raise its error.

        None marks the end of the object, and raises nothing.
        """
        offer = asyncio.ensure_future(self._parts.put(part))
        await asyncio.wait({offer, self._sending}, return_when=asyncio.FIRST_COMPLETED)
        if not offer.done():
            offer.cancel()
            if part is not None:
                await self._sending

    async def _iterate(self) -> AsyncGenerator[bytes, None]:
        while (part := await self._parts.get()) is not None:
            yield part
        if not self._whole:
            raise _Abandoned
