"""Polling for the end of work of other tasks."""

import asyncio
from collections.abc import AsyncGenerator

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5


async def polls(seconds: float) -> AsyncGenerator[None, None]:
    """Yield once per poll: at once, then after pauses that double, until ``seconds`` have passed."""
    clock = asyncio.get_running_loop()
    end, pause = clock.time() + seconds, FIRST_PAUSE
    while clock.time() < end:
        yield
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
