"""Connections to the SMTP server: a bounded pool, a rate limit, and the meaning of responses for a mail.

A failure before the content is sent leaves the mail unsent. If the connection ends while the server receives
the content, the server may have the mail: ``UnconfirmedError``.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

import aiosmtplib

from ingot_mail.access_tokens.clients import AccessTokens
from ingot_mail.settings import Settings

RETRIED_CODES = range(400, 500)
_QUERY = re.compile(r"[?&]\w+=\S*")


class SmtpError(Exception):
    """The server did not accept the mail. ``retried``: it may accept it later."""

    def __init__(self, reason: str, *, retried: bool) -> None:
        super().__init__(reason)
        self.reason, self.retried = reason, retried


class UnconfirmedError(Exception):
    """The connection ended after the content was sent, before the server confirmed it."""


class OutgoingMail(NamedTuple):
    """The envelope and content of a mail to send."""

    sender: str
    recipient: str
    content: bytes


class _Connection(NamedTuple):
    client: aiosmtplib.SMTP
    mails: int


class SmtpPool:
    """A pool of ``smtp_connections`` connections, each for ``smtp_mails_per_connection`` mails."""

    def __init__(self, settings: Settings, tokens: AccessTokens) -> None:
        self._settings, self._tokens = settings, tokens
        self._slots = asyncio.Semaphore(settings.smtp_connections)
        self._idle: list[_Connection] = []
        self._next_at = 0.0
        self._context: ssl.SSLContext | None = None

    async def send(self, mail: OutgoingMail, before_content: Callable[[], Awaitable[bool]]) -> bool:
        """Send a mail. Return False if ``before_content`` returned False; then nothing was sent.

        Raises SmtpError and UnconfirmedError.
        """
        async with self._slots:
            await self._wait_for_rate()
            connection = self._idle.pop() if self._idle else None
            if connection is not None:
                with suppress(aiosmtplib.SMTPException, OSError):
                    await connection.client.rset()  # it may have been closed while it was idle
                if not connection.client.is_connected:
                    connection = None
            if connection is None:
                connection = _Connection(await self._connect(), 0)
            client = connection.client
            is_usable = False
            try:
                is_sent = await self._send(client, mail, before_content)
                is_usable = client.is_connected
            except SmtpError:
                is_usable = client.is_connected
                raise
            finally:
                mails = connection.mails + 1
                if is_usable and mails < self._settings.smtp_mails_per_connection:
                    self._idle.append(_Connection(client, mails))
                else:
                    client.close()
            return is_sent

    async def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            client = self._idle.pop().client
            with suppress(aiosmtplib.SMTPException, OSError):
                await client.quit()
            client.close()

    async def _wait_for_rate(self) -> None:
        if not self._settings.smtp_mails_per_minute:
            return
        start = max(self._next_at, time.monotonic())
        self._next_at = start + 60.0 / self._settings.smtp_mails_per_minute
        await asyncio.sleep(start - time.monotonic())

    async def _connect(self) -> aiosmtplib.SMTP:
        settings = self._settings
        client = aiosmtplib.SMTP(
            hostname=settings.smtp_host,
            port=settings.smtp_port,
            timeout=settings.smtp_seconds,
            use_tls=settings.smtp_security == "tls",
            start_tls=settings.smtp_security == "starttls",
            tls_context=self._tls_context(),
        )
        uses_token, token = bool(settings.smtp_user) and self._tokens.is_on, ""
        try:
            if uses_token:
                token = await self._tokens.get()
            await client.connect()
            if uses_token:
                await client.auth_xoauth2(settings.smtp_user, token)
            elif settings.smtp_user:
                await client.login(settings.smtp_user, settings.smtp_password)
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            client.close()
            if isinstance(error, aiosmtplib.SMTPAuthenticationError):
                self._tokens.forget(token)
            raise SmtpError(f"no connection to the SMTP server: {_text(error)}", retried=True) from error
        return client

    def _tls_context(self) -> ssl.SSLContext | None:
        if self._settings.smtp_security == "none":
            return None
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self._settings.smtp_ca_file or None)
        return self._context

    async def _send(
        self, client: aiosmtplib.SMTP, mail: OutgoingMail, before_content: Callable[[], Awaitable[bool]]
    ) -> bool:
        try:
            is_ascii = mail.recipient.isascii() and mail.sender.isascii()
            if client.is_ehlo_or_helo_needed:
                await client.ehlo()
            if not is_ascii and not client.supports_extension("smtputf8"):
                raise SmtpError("the SMTP server takes ASCII addresses only", retried=False)
            encoding = "ascii" if is_ascii else "utf-8"
            options = [] if is_ascii else ["SMTPUTF8"]
            await client.mail(mail.sender, options=options, encoding=encoding)
            await client.rcpt(mail.recipient, encoding=encoding)
        except aiosmtplib.SMTPRecipientRefused as error:
            retried = error.code in RETRIED_CODES
            raise SmtpError(f"the address was refused: {_text(error)}", retried=retried) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise SmtpError(_text(error), retried=True) from error
        if not await before_content():
            return False
        try:
            await client.data(mail.content)
        except aiosmtplib.SMTPDataError as error:
            retried = error.code in RETRIED_CODES
            raise SmtpError(f"the mail was refused: {_text(error)}", retried=retried) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise UnconfirmedError(_text(error)) from error
        return True


def _text(error: Exception) -> str:
    """Return the error for the history: one line of at most 300 characters.

    Some servers quote query strings, which may have secrets. They are removed.
    """
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return f"{error.code} {_line(error.message)}"
    return _line(str(error) or type(error).__name__)


def _line(text: str) -> str:
    return " ".join(_QUERY.sub("?…", text).split())[:300]
