"""What wakes the workers of this process when a route or a consumer has queued something."""

import asyncio
import time

from ingot_chassis.loops import wait_for

POLL_SECONDS = 1.0
COMMIT_SECONDS = 0.01
"""What it takes at least until that can be seen for which the bell was rung."""


class Bell:
    """Rung when there is something to deliver, mostly before its commit: so one looks a little later, and again."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._rung_at = float("-inf")

    def ring(self) -> None:
        self._rung_at = time.monotonic()
        self._rung.set()

    async def wait(self) -> None:
        """Return soon after it is rung, or when as much time has passed again as since it was, up to a second."""
        since = time.monotonic() - self._rung_at
        await wait_for(self._rung, min(since, POLL_SECONDS))
        await asyncio.sleep(COMMIT_SECONDS)
