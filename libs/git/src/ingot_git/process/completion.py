"""Work that must finish before its cancelled caller continues, because cancellation does not stop threads."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def complete(work: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of ``work``. If the caller is cancelled, wait until ``work`` ends."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):  # a caller may be cancelled again and again
                await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # read, so it is not logged as lost
        raise
