"""Work that runs to its end although its caller is cancelled."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

SHORTEN_SECONDS = 0.1
"""Seconds between two calls of ``shorten``."""
_T = TypeVar("_T")


async def complete(work: Coroutine[Any, Any, _T], shorten: Callable[[], Awaitable[None]] | None = None) -> _T:
    """Return the result of ``work``. A cancelled caller first waits until ``work`` has ended.

    A cancellation calls ``shorten`` until ``work`` ends, because it does nothing to work that waits for a
    thread.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):  # a caller may be cancelled again and again
                if shorten is not None:
                    await shorten()
                await asyncio.wait([task], timeout=SHORTEN_SECONDS if shorten is not None else None)
        if not task.cancelled():
            task.exception()  # read, so it is not logged as lost
        raise
