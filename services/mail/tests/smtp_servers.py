"""A real SMTP server of aiosmtpd on the loop of the test. It keeps what it takes, and can fail."""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

FAILURES = ("connection", "sender", "recipient", "content", "before-content", "after-content")
"""Stages at which the server fails. ``after-content``: it takes the mail, and drops the connection."""


class Mailbox:
    """Mails that the server took. ``failing`` is the share of mails that fail at a random stage."""

    def __init__(self, *, failing: float = 0.0, seed: int = 1) -> None:
        self.port = 0
        self.failing = failing
        self.stages: tuple[str, ...] = FAILURES
        self.refused: set[str] = set()
        """Addresses that do not exist."""
        self.taken: list[tuple[str, bytes]] = []
        """Recipient and content of each mail."""
        self.users: dict[str, str] = {}
        """Passwords by user. If there are any, the server asks for one."""
        self.signed_in: list[str] = []
        self.failed = 0
        self.silent_at = ""
        """The command after which the server is silent: "RCPT", "DATA", or "content", which it took."""
        self.is_silent = asyncio.Event()
        self.dropped: set[str] = set()
        """Message-IDs that were taken without an answer."""
        self._random = random.Random(seed)
        self._taken = asyncio.Condition()

    @property
    def messages(self) -> list[EmailMessage]:
        """The mails, parsed."""
        parse = message_from_bytes
        return [parse(content, policy=policy.default) for _, content in self.taken]  # type: ignore[misc]

    def stage_of_failure(self) -> str:
        """Draw the stage at which the next mail fails, or an empty text."""
        if self._random.random() >= self.failing:
            return ""
        self.failed += 1
        return self._random.choice(self.stages)

    async def be_silent(self, stage: str) -> None:
        """Answer nothing any more if that is the stage."""
        if self.silent_at == stage:
            self.silent_at = ""
            self.is_silent.set()
            await asyncio.Event().wait()

    async def wait_for(self, count: int) -> None:
        """Return when that many mails were taken."""
        async with self._taken:
            await self._taken.wait_for(lambda: len(self.taken) >= count)

    async def handle_MAIL(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.stage = self.stage_of_failure()  # type: ignore[attr-defined]
        if envelope.stage == "connection":  # type: ignore[attr-defined]
            server.transport.abort()
        if envelope.stage == "sender":  # type: ignore[attr-defined]
            return "451 try later"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        await self.be_silent("RCPT")
        if address in self.refused:
            return "550 no such mailbox"
        if envelope.stage == "recipient":  # type: ignore[attr-defined]
            return "450 mailbox busy"
        if envelope.stage == "before-content":  # type: ignore[attr-defined]
            server.transport.abort()
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        assert isinstance(content, bytes)
        if envelope.stage == "content":  # type: ignore[attr-defined]
            return "452 no room"
        async with self._taken:
            self.taken.append((envelope.rcpt_tos[0], content))
            self._taken.notify_all()
        await self.be_silent("content")
        if envelope.stage == "after-content":  # type: ignore[attr-defined]
            self.dropped.add(str(message_from_bytes(content)["Message-ID"]))
            server.transport.abort()
        return "250 OK"

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        """Check a password."""
        if isinstance(data, LoginPassword) and self.users.get(data.login.decode()) == data.password.decode():
            self.signed_in.append(data.login.decode())
            return AuthResult(success=True)
        return AuthResult(success=False, handled=False)

    async def auth_XOAUTH2(self, server: SMTP, args: list[str]) -> AuthResult:  # noqa: N802
        """Check an access token: the password of the user."""
        import base64

        text = base64.b64decode(args[1]).decode()
        user, token = (part.split("=", 1)[1] for part in text.split("\x01")[:2])
        if token == f"Bearer {self.users.get(user)}":
            self.signed_in.append(user)
            return AuthResult(success=True)
        return AuthResult(success=False, handled=False)


class _Server(SMTP):
    """A server that may stop before it asks for the content."""

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        await self.event_handler.be_silent("DATA")
        await super().smtp_DATA(arg)


@asynccontextmanager
async def serve(
    mailbox: Mailbox, *, tls: ssl.SSLContext | None = None, starttls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve the mailbox on a free port of loopback."""
    loop = asyncio.get_running_loop()

    def protocol() -> SMTP:
        return _Server(
            mailbox,
            loop=loop,
            hostname="smtp.test",
            tls_context=starttls,
            require_starttls=starttls is not None,
            auth_required=bool(mailbox.users),
            auth_require_tls=False,
            authenticator=mailbox.authenticate,
            enable_SMTPUTF8=True,
        )

    server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]
