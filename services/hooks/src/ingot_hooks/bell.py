"""What wakes the workers of this process when a route or a consumer has queued something."""

import asyncio
import time

from ingot_chassis.loops import wait_for

SOONEST_SECONDS, POLL_SECONDS = 0.01, 1.0


class Bell:
    """Rung when there is something to deliver, which may be before its commit: so one looks again soon, then later."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._rung_at = float("-inf")

    def ring(self) -> None:
        self._rung_at = time.monotonic()
        self._rung.set()

    async def wait(self) -> None:
        """Return when it is rung, or when as much time has passed again as since it was: within 0.01 to 1 s."""
        since = time.monotonic() - self._rung_at
        await wait_for(self._rung, min(max(since, SOONEST_SECONDS), POLL_SECONDS))
