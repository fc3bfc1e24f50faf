"""Wakes the workers of this process after a request or an event has written work for them."""

import asyncio

from ingot_chassis.jobs.loops import wait_for

POLL_SECONDS = 5.0


class Wakeup:
    """Wakes workers. Call ``notify`` after the commit: a worker that wakes earlier does not see the rows.

    In other processes an event sets ``notified``. Without NATS, their workers poll every ``POLL_SECONDS``.
    """

    def __init__(self) -> None:
        self.notified = asyncio.Event()

    def notify(self) -> None:
        self.notified.set()

    async def wait(self) -> None:
        """Wait for ``notify``, at most ``POLL_SECONDS``."""
        await wait_for(self.notified, POLL_SECONDS)


class DeliveryWakeup(Wakeup):
    """Wakes the workers that send deliveries."""


class PermissionWakeup(Wakeup):
    """Wakes the workers that check permissions."""
