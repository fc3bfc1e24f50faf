"""Packets of side-band-64k (gitprotocol-pack(5)), with paths of this machine removed."""

import contextlib
import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from ingot_git.process.errors import GitError

DATA, PROGRESS, FATAL = 1, 2, 3
"""The bands. git and its children send messages for users in the second, in packets of 128 bytes."""
_HEADER = re.compile(rb"[0-9a-fA-F]{4}")
_LONGEST_LINE = 16 * 1024
_LARGEST = 65_515
"""Bytes after the band of a packet."""


def packets(band: int, content: bytes) -> bytes:
    """Return ``content`` in packets of a band; empty without content."""
    view = memoryview(content)
    parts = [view[start : start + _LARGEST] for start in range(0, len(content), _LARGEST)]
    return b"".join(piece for part in parts for piece in (b"%04x%c" % (len(part) + 5, band), part))


async def without_path(answer: AsyncGenerator[bytes, None], path: Path) -> AsyncGenerator[bytes, None]:
    """Yield `answer` with ``path`` replaced by "repository": git's messages may contain the storage path."""
    parts = _Packets(path)
    async with contextlib.aclosing(answer):
        try:
            async for chunk in answer:
                for part in parts.feed(chunk):
                    yield part
        except GitError:
            for part in parts.rest():
                yield part
            raise
    for part in parts.rest():
        yield part


class Texts:
    """Collects messages for users as packets of whole lines. "repository" replaces the storage path."""

    def __init__(self, path: Path) -> None:
        self._path, self._text = str(path).encode(), bytearray()

    def add(self, text: bytes) -> None:
        self._text += text

    def take(self, *, is_whole: bool = False) -> bytes:
        """Return packets of complete lines. With ``is_whole``, or if a line is very long, return all text."""
        if not self._text:
            return b""
        is_whole = is_whole or len(self._text) >= _LONGEST_LINE
        end = len(self._text) if is_whole else max(self._text.rfind(b"\n"), self._text.rfind(b"\r")) + 1
        text = bytes(self._text[:end]).replace(self._path, b"repository")
        del self._text[:end]
        return packets(PROGRESS, text)


class _Packets:
    """Splits a stream: messages are forwarded line by line, all other data when it arrives."""

    def __init__(self, path: Path) -> None:
        self._texts, self._bytes = Texts(path), b""
        self._is_plain = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._bytes += chunk
        while not self._is_plain and len(self._bytes) >= 4:
            header = self._bytes[:4]
            # Data that is no packet is no message for users either.
            self._is_plain = not _HEADER.fullmatch(header)
            length = max(4, int(header, 16)) if not self._is_plain else 0
            if self._is_plain or len(self._bytes) < length:
                break
            packet, self._bytes = self._bytes[:length], self._bytes[length:]
            if packet[4:5] == bytes([PROGRESS]):
                self._texts.add(packet[5:])
                if lines := self._texts.take():
                    yield lines
            else:
                if text := self._texts.take(is_whole=True):
                    yield text
                yield packet
        if self._is_plain:
            yield from self.rest()

    def rest(self) -> Iterator[bytes]:
        """Yield the remaining bytes when the stream ends."""
        if text := self._texts.take(is_whole=True):
            yield text
        if self._bytes:
            yield self._bytes
            self._bytes = b""
