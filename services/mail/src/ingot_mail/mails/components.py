"""Objects of mails that live as long as the process."""

import asyncio
from dataclasses import dataclass, field

from ingot_chassis.jobs.loops import wait_for

POLL_SECONDS = 5.0


@dataclass(frozen=True)
class MailComponents:
    """Components of mails. ``notified`` wakes the worker.

    Set it after the commit, because a worker that wakes earlier does not see the rows.
    """

    notified: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        """Wait until mails may be due, at most ``POLL_SECONDS``."""
        await wait_for(self.notified, POLL_SECONDS)
