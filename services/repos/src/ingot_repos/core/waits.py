"""Waiting a while for the end of work that others do."""

import asyncio
from collections.abc import AsyncGenerator

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5


async def looks(seconds: float) -> AsyncGenerator[None, None]:
    """One item for each look at the work, at once and after pauses that double, until ``seconds`` have passed."""
    clock = asyncio.get_running_loop()
    end, pause = clock.time() + seconds, FIRST_PAUSE
    while clock.time() < end:
        yield
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
