"""What wakes the workers of this process when a route or a consumer has queued something."""

import asyncio

from ingot_chassis.loops import wait_for

POLL_SECONDS = 1.0


class Bell:
    """Rung when there is something to deliver that can be seen; other processes look from time to time."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        """Return when it is rung, or when it is time to look again."""
        await wait_for(self._rung, POLL_SECONDS)
