"""Parsing of the header of an incoming mail, before the rest of the mail. Nothing in it is trusted.

Recipients are not parsed, because the time of the address parser grows with the square of their number.
"""

import hashlib
from collections.abc import Sequence
from email import message_from_bytes, policy
from email.headerregistry import AddressHeader
from email.message import Message
from typing import NamedTuple

from ingot_mail.composition.rules import is_address

MOST_HEADER_BYTES = 65_536
MOST_SENDER_CHARACTERS = 1000
"""The limit for the From header, the only one that the parser of addresses gets."""
RECIPIENTS = ("delivered-to", "x-original-to", "envelope-to", "to", "cc")


class UnreadableError(Exception):
    """The content is not a mail that can be read. The text is the reason."""


class MailHeader(NamedTuple):
    """The header of a mail. ``recipients`` are raw texts that hold addresses.

    ``automatic`` is empty, or the reason why no person wrote it. ``id`` is the Message-ID, or else a digest
    of the content.
    """

    sender: str
    recipients: Sequence[str]
    id: str
    automatic: str


def read_header(content: bytes, most_bytes: int) -> MailHeader:
    """Return the header. Raises UnreadableError, also if the mail is larger than ``most_bytes``."""
    if len(content) > most_bytes:
        raise UnreadableError(f"it is larger than {most_bytes:,} bytes")
    head, separator, _ = with_newlines(content[: MOST_HEADER_BYTES + 1]).partition(b"\n\n")
    if not separator and len(content) > MOST_HEADER_BYTES:
        raise UnreadableError(f"its header is larger than {MOST_HEADER_BYTES:,} bytes")
    message: Message = message_from_bytes(head, policy=policy.compat32)
    values: dict[str, list[str]] = {}
    for name, value in message.raw_items():
        values.setdefault(name.lower(), []).append(_unfolded(value))
    return MailHeader(
        sender=_sender(values.get("from", [])),
        recipients=[text for name in RECIPIENTS for text in values.get(name, [])],
        id=_first(values, "message-id") or hashlib.sha256(content).hexdigest(),
        automatic=_automatic(values),
    )


def with_newlines(content: bytes) -> bytes:
    """Return the content with Unix line breaks."""
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _unfolded(value: str) -> str:
    raw = "".join(value.splitlines()).encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "replace").strip()


def _sender(values: Sequence[str]) -> str:
    """Return the address of the sender; empty unless there is exactly one valid address."""
    if len(values) != 1 or len(values[0]) > MOST_SENDER_CHARACTERS:
        return ""
    header = policy.default.header_factory("From", values[0])
    if not isinstance(header, AddressHeader) or len(header.addresses) != 1:
        return ""
    address = header.addresses[0].addr_spec
    return address if is_address(address) else ""


def _first(values: dict[str, list[str]], name: str) -> str:
    return next(iter(values.get(name, [])), "")


def _automatic(values: dict[str, list[str]]) -> str:
    """Return the reason if a program wrote the mail, and answers could loop; otherwise ""."""
    submitted = _first(values, "auto-submitted").partition(";")[0].strip().lower()
    if submitted not in ("", "no"):
        return "it has Auto-Submitted"
    if _first(values, "precedence").lower() in ("bulk", "junk", "list", "auto_reply"):
        return "it has a Precedence of bulk mail"
    for name in ("X-Autoreply", "X-Autorespond", "List-Id"):
        if _first(values, name.lower()):
            return f"it has {name}"
    if any("".join(text.split()) == "<>" for text in values.get("return-path", [])):
        return "its envelope has no sender"
    kind = _first(values, "content-type").partition(";")[0].strip().lower()
    return "it is a report" if kind == "multipart/report" else ""
