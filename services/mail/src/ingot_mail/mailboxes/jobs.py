"""Polls the mailbox: one leased job, so one process of all polls at a time.

A mail is marked after it was received. If the process dies in between, the mail is received again, and its
reply is known then. A failure is one line in the log, and the next attempts wait longer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.errors import TooManyRequests
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_mail.mailboxes.clients import MailboxConnection
from ingot_mail.replies.rules.outcomes import Received
from ingot_mail.settings import Settings

KIND, KEY = "poll_mailbox", "mailbox"


class PollMailbox(msgspec.Struct, frozen=True):
    """The payload of the job: empty, because the settings name the mailbox."""


class MailboxPoller:
    """Receives the mails of the mailbox, every ``imap_seconds``."""

    def __init__(
        self, jobs: Jobs, settings: Settings, receive: Callable[[bytes], Awaitable[Received]]
    ) -> None:
        self._jobs, self._settings, self._receive = jobs, settings, receive
        self._every = timedelta(seconds=settings.imap_seconds)

    def work(self) -> dict[str, Work]:
        return {KIND: self._run}

    async def schedule(self) -> None:
        """Schedule the job for now. Called at the start of a process."""
        async with self._jobs.database.transaction() as tx:
            await self._jobs.schedule(tx, KIND, KEY, PollMailbox())

    async def _run(self, job: Job) -> None:
        await self.poll()
        async with self._jobs.database.transaction() as tx:
            await self._jobs.finish(tx, job, again_at=now() + self._every)

    async def poll(self) -> None:
        """Receive all mails that were not received yet. Raises MailboxError, ApiError and DBAPIError.

        A mail that is over the limit of its sender stays, and is received by a later poll.
        """
        connection = MailboxConnection(self._settings)
        try:
            await asyncio.to_thread(connection.open)
            for uid in await asyncio.to_thread(connection.list_unseen):
                content = await asyncio.to_thread(connection.fetch, uid)
                if content is None:
                    continue
                try:
                    await self._receive(content)
                except TooManyRequests:
                    continue
                await asyncio.to_thread(connection.mark_received, uid)
            await asyncio.to_thread(connection.sign_out)
        finally:
            connection.abort()  # a thread that still waits for the server ends
