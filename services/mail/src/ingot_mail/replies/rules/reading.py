"""Reading of an incoming mail: sender, recipients, id and text. Nothing in it is trusted."""

import codecs
import hashlib
import html
import re
from collections.abc import Sequence
from email import message_from_bytes, policy
from email.headerregistry import AddressHeader
from email.message import EmailMessage, MIMEPart
from typing import NamedTuple

import nh3

from ingot_mail.composition.rules import is_address
from ingot_mail.replies.rules.quotes import cut_quotes

MOST_PARTS = 50
"""Most parts of a mail. The parser compares each line with the boundaries of all open parts."""
MOST_TEXT_BYTES = 500_000
RECIPIENTS = ("Delivered-To", "X-Original-To", "Envelope-To", "To", "Cc")
_BLOCKS = re.compile(r"<(?:br|/p|/div|/li|/tr|/h[1-6]|/pre)>")
_TAG = re.compile("<[^<>]*>")
_SPACE = re.compile(r"\s+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_TAGS = {"br", "p", "div", "li", "tr", "pre", *(f"h{level}" for level in range(1, 7))}
_DROPPED = {"script", "style", "title", "blockquote"}
_NO_TEXT_CODECS = frozenset(("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"))
"""Codecs that no mail has, and whose time may grow with the square of the text."""


class UnreadableError(Exception):
    """The content is not a mail that can be read. The text is the reason."""


class IncomingMail(NamedTuple):
    """A mail as it arrived. ``text`` is what its sender wrote, without quotes; it may be empty.

    ``recipients`` are texts that hold addresses. ``automatic`` is empty, or the reason why no person
    wrote it. ``id`` is the Message-ID, or else a digest of the content.
    """

    sender: str
    recipients: Sequence[str]
    id: str
    automatic: str
    text: str


def read_mail(content: bytes, most_bytes: int) -> IncomingMail:
    """Return the mail. Raises UnreadableError, also if it is larger than ``most_bytes``."""
    if len(content) > most_bytes:
        raise UnreadableError(f"it is larger than {most_bytes:,} bytes")
    if content.lower().count(b"boundary=") > MOST_PARTS:
        raise UnreadableError(f"it has more than {MOST_PARTS} parts")
    try:
        message: EmailMessage = message_from_bytes(content, policy=policy.default)
        return IncomingMail(
            sender=_sender(message),
            recipients=[text for name in RECIPIENTS for text in _texts(message, name)],
            id=_one_text(message, "Message-ID").strip() or hashlib.sha256(content).hexdigest(),
            automatic=_automatic(message),
            text=cut_quotes(_text_of(message)),
        )
    except Exception as error:
        # The parser raises many kinds of errors for malformed mails.
        raise UnreadableError(f"it could not be parsed: {type(error).__name__}") from error


def _sender(message: EmailMessage) -> str:
    """Return the address of the sender; empty unless there is exactly one."""
    headers = message.get_all("From", [])
    if len(headers) != 1 or not isinstance(headers[0], AddressHeader) or len(headers[0].addresses) != 1:
        return ""
    address = headers[0].addresses[0].addr_spec
    return address if is_address(address) else ""


def _texts(message: EmailMessage, name: str) -> list[str]:
    return [str(value) for value in message.get_all(name, [])]


def _one_text(message: EmailMessage, name: str) -> str:
    return next(iter(_texts(message, name)), "")


def _automatic(message: EmailMessage) -> str:
    """Return the reason if a program wrote the mail, and answers could loop; otherwise an empty text."""
    submitted = _one_text(message, "Auto-Submitted").partition(";")[0].strip().lower()
    if submitted not in ("", "no"):
        return "it has Auto-Submitted"
    if _one_text(message, "Precedence").strip().lower() in ("bulk", "junk", "list", "auto_reply"):
        return "it has a Precedence of bulk mail"
    for name in ("X-Autoreply", "X-Autorespond", "List-Id"):
        if _one_text(message, name):
            return f"it has {name}"
    if any("".join(text.split()) == "<>" for text in _texts(message, "Return-Path")):
        return "its envelope has no sender"
    return "it is a report" if message.get_content_type() == "multipart/report" else ""


def _text_of(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    text = _decoded(part)
    if part.get_content_subtype() == "html":
        text = _text_of_html(text)
    elif _parameter(part, "format") == "flowed":
        text = _unwrapped(text, deletes_space=_parameter(part, "delsp") == "yes")
    return text


def _parameter(part: MIMEPart, name: str) -> str:
    return str(part.get_param(name, "")).lower()


def _decoded(part: MIMEPart) -> str:
    payload = part.get_payload(decode=True)
    content = payload[:MOST_TEXT_BYTES] if isinstance(payload, bytes) else b""
    charset = str(part.get_content_charset("utf-8"))
    try:
        codec = codecs.lookup(charset).name
        text = content.decode("utf-8" if codec in _NO_TEXT_CODECS else codec, "replace")
    except (LookupError, ValueError):
        text = content.decode("utf-8", "replace")
    return _clean(text)


def _clean(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " "))


def _text_of_html(text: str) -> str:
    """Return the text of HTML. Quotes, scripts and styles are dropped with their content."""
    safe = nh3.clean(
        _SPACE.sub(" ", text), tags=_TAGS, attributes={}, clean_content_tags=_DROPPED, link_rel=None
    )
    lines = _BLOCKS.sub("\n", safe).split("\n")
    return _clean("\n".join(html.unescape(_TAG.sub("", line)).strip() for line in lines))


def _unwrapped(text: str, *, deletes_space: bool) -> str:
    """Join the lines of a flowed text (RFC 3676) that its sender's program wrapped."""
    joined: list[str] = []
    is_open = False
    for raw in text.split("\n"):
        is_quoted, is_signature = raw.startswith(">"), raw == "-- "
        line = raw.removeprefix(" ")
        if is_open and not is_quoted and not is_signature:
            joined[-1] = (joined[-1][:-1] if deletes_space else joined[-1]) + line
        else:
            joined.append(line)
        is_open = line.endswith(" ") and not is_quoted and not is_signature
    return "\n".join(line if line == "-- " else line.rstrip(" ") for line in joined)
