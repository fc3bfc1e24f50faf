"""What wakes the workers of this process when a route or a consumer has queued something."""

import asyncio
import time

from ingot_chassis.loops import wait_for

POLL_SECONDS, SOON_SECONDS, LINGER_SECONDS = 1.0, 0.05, 1.0


class Bell:
    """Rung when there is something to deliver, which may be before its commit: so one looks often for a while."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._until = float("-inf")

    def ring(self) -> None:
        self._until = time.monotonic() + LINGER_SECONDS
        self._rung.set()

    async def wait(self) -> None:
        """Return when it is rung, or when it is time to look again."""
        rung_lately = time.monotonic() < self._until
        await wait_for(self._rung, SOON_SECONDS if rung_lately else POLL_SECONDS)
