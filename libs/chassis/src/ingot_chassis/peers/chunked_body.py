"""The body of an answer in chunks, read from its socket past the transport of the event loop, so that it can go into a pipe."""

import os
import re
import socket

from ingot_chassis.zero_copy import Pipe, receive_into_pipe, wait_readable

LONGEST_LINE = 100
"""Bytes of the size of a chunk with what may surround it; the services here write less than ten."""
LEAST_PIPE = 65_536
"""Bytes of a pipe through which fewer parts go than by reading and writing."""
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(;.*)?")


class ChunkedBody:
    """A body (RFC 9112, section 7.1, without trailers) on a connection from which nobody else reads.

    ``beginning`` was read already. The connection is for one request at a time: nothing follows the body.
    """

    def __init__(self, connection: int, beginning: bytes) -> None:
        # The transport may be closed meanwhile, and its number be that of another connection.
        self._socket = socket.socket(fileno=os.dup(connection))
        self._connection = self._socket.fileno()
        self._read, self._position = beginning, 0
        self._least = 1
        """Bytes of which it is awake."""
        self._left = 0
        """Bytes of the chunk."""
        self._chunk_end = b""
        """What comes before the next size."""
        self.is_whole = False

    def close(self) -> None:
        """Let go of the connection."""
        self._wake_at(1)
        self._socket.close()

    async def part(self, pipe: Pipe) -> bytes | int:
        """The next bytes of the body, or how many of them are in the empty pipe now; no bytes at the end.

        A pipe that takes little is left empty.

        Raises ConnectionError.
        """
        if not self._left:
            self._left = await self._size()
            if not self._left:
                if self._position < len(self._read):
                    raise ConnectionError("something follows the body")
                self.is_whole = True
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
        """Let the socket be readable when so many bytes are there (tcp(7)): fewer parts cost less."""
        if count != self._least:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._least = count

    async def _size(self) -> int:
        """The size of the next chunk; 0 at the end."""
        line = await self._line(self._chunk_end)
        self._chunk_end = b"\r\n"
        size = _SIZE.fullmatch(line)
        if size is None:
            raise ConnectionError(f"this is no size of a chunk: {line!r}")
        count = int(size[1], 16)
        if not count and await self._line(b""):
            raise ConnectionError("the answer has a trailer")
        return count

    async def _line(self, before: bytes) -> bytes:
        """The next line, which comes behind ``before``."""
        while True:
            begin = self._position + len(before)
            end = self._read.find(b"\r\n", begin, begin + LONGEST_LINE)
            if end >= 0:
                break
            if len(self._read) >= begin + LONGEST_LINE:
                raise ConnectionError("the size of a chunk has no end")
            self._read, self._position = self._read[self._position :] + await self._more(LONGEST_LINE), 0
        if not self._read.startswith(before, self._position):
            raise ConnectionError("a chunk is longer than its size")
        self._position = end + 2
        return self._read[begin:end]

    async def _more(self, most: int) -> bytes:
        """What is there next. For a line that is a few bytes: what is of the chunk behind it goes through no pipe."""
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
