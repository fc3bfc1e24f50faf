"""A connection from one service to another, with one request at a time on it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any, cast

import httptools

from ingot_chassis.peers.chunked_body import ChunkedBody
from ingot_chassis.zero_copy import is_readable

IDLE_SECONDS = 30.0
"""How long an unused connection is trusted; the servers here keep one for longer."""
LIFETIME_SECONDS = 60.0
"""How long a connection is used, so that replicas which come later get their share."""
SILENT_SECONDS = 10
"""After so long without a packet the other machine is asked whether it is there, three times in as long again."""
MOST_UNREAD = 262_144
"""Bytes of an answer that may wait here for its reader."""
LARGE_PART = 65_536
"""Bytes of a part of a body that would cost more to copy into its chunk than to write beside its frame."""

Headers = list[tuple[bytes, bytes]]
Body = bytes | AsyncIterator[bytes]


class Connection(asyncio.Protocol):
    """One connection. ``ask``, then ``part`` until no more come, then again."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._lasts_until = loop.time() + LIFETIME_SECONDS
        self._requested = self._whole = self._paused = self._bodiless = self._keeps = False
        self._sent = False
        """Whether the other side has got the whole body of the request, or will."""
        self._failure: BaseException | None = None
        self._parts: list[bytes] = []
        self._unread = 0
        self._in_chunks = False
        self.chunks: ChunkedBody | None = None
        self.good_until = 0.0
        self.heard = self.ended = False
        self.status = 0
        self.headers: Headers = []

    async def ask(self, head: bytes, body: Body, *, chunked: bool, bodiless: bool, in_chunks: bool) -> None:
        """Send a request; return when the head of its answer is there."""
        if self._bodiless or self._in_chunks:
            # The last one still waits for what HEAD leaves out, or for what was read past it.
            self._parser = httptools.HttpResponseParser(self)
        self._requested, self._whole, self.heard, self._bodiless = True, False, False, bodiless
        self._in_chunks, self._sent = in_chunks, isinstance(body, bytes)
        self.status, self.headers = 0, []
        if isinstance(body, bytes):
            self._write(head + b"\r\n" + body)
        else:
            self._write(head + b"\r\n")
            self._sending = self._loop.create_task(self._send(body, chunked), name="send a body")
        while not self.status:
            await self._wait()

    async def part(self) -> tuple[bytes, bool]:
        while not self._parts and not self._whole:
            await self._wait()
        part = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._unread = 0
        if self._paused and not self.ended:
            self._paused = False
            self._open_transport().resume_reading()
        return part, not self._whole

    def reusable(self) -> bool:
        """Whether the next request may go over it: this one is over in both directions."""
        if self.chunks is not None and self.chunks.is_whole:
            self._whole = True
            self._end_chunks()
        now = self._loop.time()
        if (
            not (self._whole and self._keeps and self._sent and not self._parts)
            or now >= self._lasts_until
            or self.ended
        ):
            return False
        self._requested, self._sending = False, None
        self.good_until = min(now + IDLE_SECONDS, self._lasts_until)
        return True

    def has_input(self) -> bool:
        """Whether something waits to be read. On a connection that is not in use that is its end."""
        return is_readable(self._open_transport().get_extra_info("socket").fileno())

    def _end_chunks(self) -> None:
        if self.chunks is not None:
            self.chunks.close()
            self.chunks = None
            if not self.ended:
                self._open_transport().resume_reading()

    def hang_up(self) -> None:
        self._end_chunks()
        if self._sending is not None:
            self._sending.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _send(self, body: AsyncIterator[bytes], chunked: bool) -> None:
        try:
            async for part in body:
                if self.ended:
                    return  # the answer may be there all the same; without one its reader hears of the end
                if chunked and len(part) > LARGE_PART:
                    self._open_transport().writelines((b"%x\r\n" % len(part), part, b"\r\n"))
                else:
                    self._write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
                if self._writable is not None:
                    await self._writable
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised to the one who waits for the answer
            self._fail(error)
            return
        if chunked and not self.ended:
            self._write(b"0\r\n\r\n")
        self._sent = True

    def _write(self, data: bytes) -> None:
        if self.ended:
            raise ConnectionResetError("the connection ended")
        self._open_transport().write(data)

    def _open_transport(self) -> asyncio.Transport:
        return cast("asyncio.Transport", self._transport)

    async def _wait(self) -> None:
        self._raise_failure()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if not self._parts and not self._whole:
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, failure: BaseException) -> None:
        self._failure = self._failure or failure
        self._wake()

    # asyncio.Protocol

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        _notice_silence(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if not self._requested:
            self.hang_up()  # an answer to nothing
            return
        is_first, self.heard = not self.heard, True
        try:
            if self._in_chunks and is_first:
                self._begin_in_chunks(data)
            else:
                self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"the answer cannot be read: {error!r}"))
            self.hang_up()
            return
        if self._unread > MOST_UNREAD and not self._paused:
            self._paused = True
            self._open_transport().pause_reading()
        self._wake()

    def _begin_in_chunks(self, data: bytes) -> None:
        """Read the head, and leave the body to ``chunks`` if nothing else is to come.

        A body without chunks, one whose request is still sent and may fail, and one whose head is not whole in what is
        read first, are read as others are.
        """
        head, end, body = data.partition(b"\r\n\r\n")
        self._parser.feed_data(head + end)
        is_chunked = any(name.lower() == b"transfer-encoding" for name, _ in self.headers)
        if end and self.status and self._sent and is_chunked:
            transport = self._open_transport()
            transport.pause_reading()
            self.chunks = ChunkedBody(transport.get_extra_info("socket").fileno(), body)
        elif body:
            self._parser.feed_data(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        if self.status and not self._whole and exc is None and self._ends_with_the_connection():
            self._whole = True
        self._fail(ConnectionResetError(f"the connection ended: {exc or 'closed'}"))
        self.resume_writing()

    def _ends_with_the_connection(self) -> bool:
        """RFC 9112, section 6.3, the last case."""
        return not any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self.headers)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # httptools.HttpResponseParser

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = []  # an interim answer, RFC 9110, section 15.2
            return
        self.status, self._keeps = status, self._parser.should_keep_alive()
        self._whole = self._bodiless

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)
        self._unread += len(body)

    def on_message_complete(self) -> None:
        self._whole = self.status > 0


def _notice_silence(connection: socket.socket) -> None:
    """Let the connection end when the other machine has gone without a word, as pods do (tcp(7))."""
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, SILENT_SECONDS // 3))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 2000 * SILENT_SECONDS)
