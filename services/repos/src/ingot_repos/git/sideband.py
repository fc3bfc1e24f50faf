"""Packets of side-band-64k (gitprotocol-pack(5)), and the answer to a push in them, without paths of this machine."""

import contextlib
import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from ingot_repos.git.errors import GitError

DATA, PROGRESS, FATAL = 1, 2, 3
"""The bands. What git and its children print for people is cut into packets of 128 bytes in the second one."""
_HEADER = re.compile(rb"[0-9a-fA-F]{4}")
_LONGEST_LINE = 16 * 1024
_LARGEST = 65_515
"""Bytes behind the band of a packet."""


def packets(band: int, content: bytes) -> bytes:
    """``content`` in packets of a band; nothing if it is empty."""
    view = memoryview(content)
    parts = [view[start : start + _LARGEST] for start in range(0, len(content), _LARGEST)]
    return b"".join(piece for part in parts for piece in (b"%04x%c" % (len(part) + 5, band), part))


async def without_path(answer: AsyncGenerator[bytes, None], path: Path) -> AsyncGenerator[bytes, None]:
    """`answer` with the word "repository" for the path of the repository, which git names when that is damaged."""
    packets = _Packets(str(path).encode())
    async with contextlib.aclosing(answer):
        try:
            async for chunk in answer:
                for part in packets.feed(chunk):
                    yield part
        except GitError:
            for part in packets.rest():
                yield part
            raise
    for part in packets.rest():
        yield part


class _Packets:
    """Takes a stream apart; texts are given on line by line, everything else as it comes."""

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._bytes, self._text = b"", b""
        self._is_plain = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._bytes += chunk
        while not self._is_plain and len(self._bytes) >= 4:
            header = self._bytes[:4]
            # What is no packet is no text for people either.
            self._is_plain = not _HEADER.fullmatch(header)
            length = max(4, int(header, 16)) if not self._is_plain else 0
            if self._is_plain or len(self._bytes) < length:
                break
            packet, self._bytes = self._bytes[:length], self._bytes[length:]
            if packet[4:5] == bytes([PROGRESS]):
                self._text += packet[5:]
                end = max(self._text.rfind(b"\n"), self._text.rfind(b"\r")) + 1
                yield from self._give(end if len(self._text) < _LONGEST_LINE else len(self._text))
            else:
                yield from self._give(len(self._text))
                yield packet
        if self._is_plain:
            yield from self.rest()

    def rest(self) -> Iterator[bytes]:
        """What is left when the stream ends."""
        yield from self._give(len(self._text))
        if self._bytes:
            yield self._bytes
            self._bytes = b""

    def _give(self, end: int) -> Iterator[bytes]:
        text, self._text = self._text[:end].replace(self._path, b"repository"), self._text[end:]
        if text:
            yield packets(PROGRESS, text)
