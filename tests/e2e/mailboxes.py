"""A real SMTP server for the mails of a deployment."""

import asyncio
import queue
import re
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from ingot_testing.processes import free_port

SECONDS = 60


class Mailboxes:
    """Takes every mail. ``variables`` are the settings of a deployment that sends its mails here."""

    def __init__(self, port: int) -> None:
        self.variables = {
            "INGOT_MAIL_SMTP_HOST": "127.0.0.1",
            "INGOT_MAIL_SMTP_PORT": str(port),
            "INGOT_MAIL_SMTP_SECURITY": "none",
        }
        self._mails: queue.SimpleQueue[EmailMessage] = queue.SimpleQueue()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        assert isinstance(content, bytes)
        self._mails.put(message_from_bytes(content, policy=policy.default))  # type: ignore[arg-type]
        return "250 OK"

    def next(self, address: str) -> str:
        """Return the text of the next mail, which must be to that address."""
        mail = self._mails.get(timeout=SECONDS)
        assert recipient_of(mail) == address
        return text_of(mail)

    async def find(self, address: str, subject: str) -> EmailMessage:
        """Wait for a mail to an address with those words in its subject. Earlier mails are dropped."""
        while True:
            mail = await asyncio.to_thread(self._mails.get, timeout=SECONDS)
            if recipient_of(mail) == address and subject in mail["Subject"]:
                return mail


def recipient_of(mail: EmailMessage) -> str:
    return str(mail["To"].addresses[0].addr_spec)


def text_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def link_of(text: str) -> str:
    """Return the path and query of the link of a mail."""
    (address,) = re.findall(r"http://\S+\?code=\S+", text)
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


@contextmanager
def serve_mailboxes() -> Iterator[Mailboxes]:
    port = free_port()
    mailboxes = Mailboxes(port)
    controller = Controller(mailboxes, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield mailboxes
    finally:
        controller.stop()
