"""Polls the mailbox. The poll is one leased job, so only one process polls at a time.

A mail is marked after it was received. If the process dies in between, the mail is received again, and its
reply is recognized. A failed mail does not delay others: the next poll receives it last. A failed poll is one
line in the log, and the next attempts wait longer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy.exc import DBAPIError

from ingot_chassis.clock import now
from ingot_chassis.errors import ApiError, TooManyRequests
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_mail.access_tokens.clients import TokenError
from ingot_mail.access_tokens.rules import imap_tokens
from ingot_mail.mailboxes.clients import SECONDS, MailboxConnection, MailboxError, SignInRefused
from ingot_mail.replies.rules.outcomes import Received
from ingot_mail.settings import Settings

KIND, KEY = "poll_mailbox", "mailbox"
MOST_FAILURES = 3
"""Number of failed mails in a row that end a poll."""
DEFERRAL = timedelta(hours=1)
"""Time for which a mail over the limit of its sender is not fetched again."""
MOST_DEFERRED = 10_000
"""Maximum number of such mails that are remembered."""


class PollMailbox(msgspec.Struct, frozen=True):
    """The payload of the job: empty, because the settings name the mailbox."""


class MailboxPoller:
    """Receives the mails of the mailbox, every ``imap_seconds``."""

    def __init__(
        self, jobs: Jobs, settings: Settings, receive: Callable[[bytes], Awaitable[Received]]
    ) -> None:
        self._jobs, self._settings, self._receive = jobs, settings, receive
        self._every = timedelta(seconds=settings.imap_seconds)
        self._failed, self._deferred = set[str](), dict[str, datetime]()
        self._tokens = imap_tokens(settings, jobs.database, seconds=SECONDS)

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
        """Receive all mails that were not received yet. Raises MailboxError, ApiError, DBAPIError, OSError.

        A mail that exceeds the limit of its sender stays in the mailbox. It is fetched again after an hour,
        or by another process.
        """
        token = await self._token()
        connection = MailboxConnection(self._settings)
        try:
            await asyncio.to_thread(connection.open, token)
            await self._receive_all(connection, await asyncio.to_thread(connection.list_unseen))
            await asyncio.to_thread(connection.sign_out)
        except SignInRefused:
            self._tokens.forget(token)
            raise
        finally:
            connection.abort()  # a thread that still waits for the server ends

    async def _token(self) -> str:
        """Return an access token; empty for a sign-in by password. Raises MailboxError."""
        if not self._tokens.is_on:
            return ""
        try:
            return await self._tokens.get()
        except TokenError as error:
            raise MailboxError(f"{error}; check INGOT_MAIL_IMAP_OAUTH_URL and the client") from error

    async def _receive_all(self, connection: MailboxConnection, uids: Sequence[str]) -> None:
        """Receive mails; mails that failed before are received last. Raises the first error at the end.

        ``MOST_FAILURES`` failures in a row end the poll, because a service or the server is probably down.
        """
        since = now() - DEFERRAL
        listed = {*uids}
        self._failed &= listed
        self._deferred = {uid: at for uid, at in self._deferred.items() if uid in listed and at > since}
        first_error: Exception | None = None
        in_a_row = 0
        for uid in sorted(listed - self._deferred.keys(), key=lambda uid: (uid in self._failed, int(uid))):
            try:
                await self._receive_one(connection, uid)
            except (ApiError, DBAPIError, MailboxError, OSError) as error:
                first_error, in_a_row = first_error or error, in_a_row + 1
                self._failed.add(uid)
                if in_a_row == MOST_FAILURES:
                    break
            else:
                in_a_row = 0
                self._failed.discard(uid)
        if first_error is not None:
            raise first_error

    async def _receive_one(self, connection: MailboxConnection, uid: str) -> None:
        content = await asyncio.to_thread(connection.fetch, uid)
        if content is None:
            return
        try:
            await self._receive(content)
        except TooManyRequests:
            if len(self._deferred) < MOST_DEFERRED:
                self._deferred[uid] = now()
            return
        await asyncio.to_thread(connection.mark_received, uid)
