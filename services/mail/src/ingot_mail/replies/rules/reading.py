"""Parsing of the text of an incoming mail. Nothing in it is trusted."""

import codecs
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from email.policy import Compat32, Policy
from typing import Any

from ingot_mail.replies.rules.headers import UnreadableError, with_newlines
from ingot_mail.replies.rules.html_text import text_of_html
from ingot_mail.replies.rules.quotes import cut_quotes

MOST_PARTS = 50
MOST_NESTED = 8
"""The limit for multiparts. The parser compares each line with the boundaries of all open ones."""
MOST_LINES = 750_000
"""The limit for lines, which a mail of 50 MB in base64 does not reach."""
MOST_CONTENT_HEADER = 2000
"""The limit for a header about the content of a part. The parser takes the square of its length."""
MOST_TEXT_BYTES = 500_000
MOST_HTML_BYTES = 100_000
_CUT = "\0cut"
"""The last line of a text that is longer than the limit. No other text has a control character."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_NO_TEXT_CODECS = frozenset(("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"))
"""Codecs that no mail has, and whose time may grow with the square of the text."""


class _Limits(Compat32):
    """The policy for parsing. It keeps headers as they are, and rejects long content headers."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        if name.lower().startswith("content-") and len(value) > MOST_CONTENT_HEADER:
            raise UnreadableError("the header of a part is too long")
        return name, value


class _Counter:
    """The numbers of parts and multiparts that a parser has found. Raises UnreadableError for too many."""

    def __init__(self) -> None:
        self.parts = self.multiparts = 0

    def part(self, policy: Policy) -> "_Part":
        """Return a new part, for the parser."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise UnreadableError(f"it has more than {MOST_PARTS} parts")
        return _Part(policy, self)


class _Part(Message):
    """A part of a mail. It counts multiparts: the parser requests the boundary when it opens a multipart."""

    def __init__(self, policy: Policy, counter: _Counter) -> None:
        super().__init__(policy)
        self._counter = counter

    def get_boundary(self, failobj: Any = None) -> Any:
        self._counter.multiparts += 1
        if self._counter.multiparts > MOST_NESTED:
            raise UnreadableError(f"it has more than {MOST_NESTED} multiparts")
        return super().get_boundary(failobj)


def read_text(content: bytes) -> str:
    """Return the text that the sender wrote, without quotes; it may be empty. Raises UnreadableError."""
    content = with_newlines(content)
    if content.count(b"\n") > MOST_LINES:
        raise UnreadableError(f"it has more than {MOST_LINES:,} lines")
    try:
        message = message_from_bytes(content, policy=_Limits(message_factory=_Counter().part))
        text = cut_quotes(_text_of(message))
    except UnreadableError:
        raise
    except Exception as error:
        # The parser raises many kinds of errors for malformed mails.
        raise UnreadableError("it could not be parsed") from error
    if text.endswith(_CUT):
        raise UnreadableError("its text is too long")
    return text


def _text_of(message: Message) -> str:
    texts = {part.get_content_subtype(): part for part in reversed(list(_texts(message)))}
    if "plain" in texts:
        part = texts["plain"]
        text, is_cut = _decoded(part, MOST_TEXT_BYTES)
        if _parameter(part, "format") == "flowed":
            text = _unwrapped(text, deletes_space=_parameter(part, "delsp") == "yes")
    elif "html" in texts:
        text, is_cut = _decoded(texts["html"], MOST_HTML_BYTES)
        text, is_quoted = text_of_html(text)
        text, is_cut = _clean(text), is_cut and not is_quoted
    else:
        return ""
    return f"{text}\n{_CUT}" if is_cut else text


def _texts(message: Message) -> Iterator[Message]:
    """Yield the text parts that are not attachments.

    The parser has limited the number of parts and levels.
    """
    if message.get_content_maintype() == "text":
        if message.get_content_disposition() != "attachment":
            yield message
    elif message.get_content_maintype() == "multipart":
        payload = message.get_payload()
        for part in payload if isinstance(payload, list) else []:
            if isinstance(part, Message):
                yield from _texts(part)


def _parameter(part: Message, name: str) -> str:
    return str(part.get_param(name, "")).lower()


def _decoded(part: Message, most_bytes: int) -> tuple[str, bool]:
    """Return the text of a part, and True if it is longer than the limit."""
    payload = part.get_payload(decode=True)
    whole = payload if isinstance(payload, bytes) else b""
    content, charset = whole[:most_bytes], str(part.get_content_charset("utf-8"))
    try:
        codec = codecs.lookup(charset).name
        text = content.decode("utf-8" if codec in _NO_TEXT_CODECS else codec, "replace")
    except (LookupError, ValueError):
        text = content.decode("utf-8", "replace")
    return _clean(text), len(whole) > most_bytes


def _clean(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " "))


def _unwrapped(text: str, *, deletes_space: bool) -> str:
    """Join the lines of a flowed text (RFC 3676) that the sender's program wrapped."""
    joined: list[list[str]] = []
    is_open = False
    for raw in text.split("\n"):
        is_quoted, is_signature = raw.startswith(">"), raw == "-- "
        line = raw.removeprefix(" ")
        if is_open and not is_quoted and not is_signature:
            if deletes_space:
                joined[-1][-1] = joined[-1][-1][:-1]
            joined[-1].append(line)
        else:
            joined.append([line])
        is_open = line.endswith(" ") and not is_quoted and not is_signature
    whole = ("".join(pieces) for pieces in joined)
    return "\n".join(line if line == "-- " else line.rstrip(" ") for line in whole)
