"""Receives mails of the mailbox in a process, and stops before it marks the first."""

import asyncio
import sys

import msgspec

from ingot_chassis.jobs.jobs import Jobs
from ingot_mail.mailboxes.jobs import MailboxPoller
from ingot_mail.replies.rules.outcomes import Received
from ingot_mail.settings import Settings

from .world import World


async def _main() -> None:
    world = World(msgspec.json.decode(sys.stdin.buffer.read(), type=Settings))
    world.add_issue()

    async def receive_and_stop(content: bytes) -> Received:
        await world.receive(content)
        sys.stdout.write(f"{len(world.issues.replies)}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
        raise AssertionError

    await MailboxPoller(Jobs(world.db), world.settings, receive_and_stop).poll()


if __name__ == "__main__":
    asyncio.run(_main())
