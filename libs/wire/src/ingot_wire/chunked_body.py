"""A chunked response body that is read directly from the socket, so it can be spliced into a pipe."""

import os
import re
import socket

from ingot_wire.zero_copy import Pipe, receive_into_pipe, wait_readable

LONGEST_LINE = 100
"""Bytes of the line with a chunk's size. The services here write fewer than ten."""
LEAST_PIPE = 65_536
"""Capacity in bytes from which a pipe is cheaper than reading and writing."""
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(;.*)?")


class ChunkedBody:
    """A chunked body without trailers (RFC 9112, section 7.1) on a connection that has no other reader.

    ``beginning`` has the bytes that were already read. ``is_whole`` is True when the body is complete.
    ``has_surplus`` is True if other bytes follow a complete body.
    """

    def __init__(self, connection: int, beginning: bytes) -> None:
        # The transport may close, and its number may then belong to another connection.
        self._socket = socket.socket(fileno=os.dup(connection))
        self._connection = self._socket.fileno()
        self._read, self._position = beginning, 0
        self._least = 1
        """The number of bytes that make the socket readable."""
        self._left = 0
        """Unread bytes of the current chunk."""
        self._chunk_end = b""
        """The bytes before the next size."""
        self.is_whole = self.has_surplus = False

    def close(self) -> None:
        """Close this object's duplicate of the socket."""
        self._wake_at(1)
        self._socket.close()

    async def part(self, pipe: Pipe) -> bytes | int:
        """Return the next bytes of the body, or the number of bytes that were moved into the empty pipe.

        Return b"" at the end. A pipe smaller than ``LEAST_PIPE`` bytes is not used. Raises ConnectionError.
        """
        if not self._left:
            self._left = await self._size()
            if not self._left:
                self.is_whole, self.has_surplus = True, self._position < len(self._read)
                return b""
        if self._position < len(self._read):
            part = self._read[self._position : self._position + self._left]
            self._position += len(part)
            self._left -= len(part)
            return part
        if pipe.size < LEAST_PIPE:
            part = await self._more(min(self._left, LEAST_PIPE))
            self._left -= len(part)
            return part
        count = min(self._left, pipe.size)
        self._wake_at(count)
        count = await receive_into_pipe(self._connection, pipe.writer, count)
        self._left -= count
        return count

    def _wake_at(self, count: int) -> None:
        """Make the socket readable after ``count`` bytes have arrived (tcp(7)), so parts are large."""
        if count != self._least:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._least = count

    async def _size(self) -> int:
        """Return the size of the next chunk in bytes; 0 at the end. Raises ConnectionError."""
        line = await self._line(self._chunk_end)
        self._chunk_end = b"\r\n"
        size = _SIZE.fullmatch(line)
        if size is None:
            raise ConnectionError(f"invalid chunk size: {line!r}")
        count = int(size[1], 16)
        if not count and await self._line(b""):
            raise ConnectionError("the response has a trailer")
        return count

    async def _line(self, before: bytes) -> bytes:
        """Return the next line, which must follow the bytes ``before``. Raises ConnectionError."""
        while True:
            begin = self._position + len(before)
            end = self._read.find(b"\r\n", begin, begin + LONGEST_LINE)
            if end >= 0:
                break
            if len(self._read) >= begin + LONGEST_LINE:
                raise ConnectionError(f"the line of a chunk size is longer than {LONGEST_LINE} bytes")
            self._read, self._position = self._read[self._position :] + await self._more(LONGEST_LINE), 0
        if not self._read.startswith(before, self._position):
            raise ConnectionError("a chunk is longer than its size")
        self._position = end + 2
        return self._read[begin:end]

    async def _more(self, most: int) -> bytes:
        """Return the next bytes, at most ``most``.

        ``most`` is small for a line, because the rest of the chunk can go through a pipe.
        """
        self._wake_at(1)
        while True:
            try:
                data = os.read(self._connection, most)
            except BlockingIOError:
                await wait_readable(self._connection)
                continue
            if not data:
                raise ConnectionResetError("the connection ended")
            return data
