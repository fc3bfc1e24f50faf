"""A connection of the client to a server, used for one request at a time."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any, cast

import httptools

from ingot_wire.chunked_body import ChunkedBody
from ingot_wire.framing import Headers, response_framing_error
from ingot_wire.zero_copy import is_readable

IDLE_SECONDS = 30.0
"""Seconds for which an idle connection may be reused. The servers here keep it for longer."""
LIFETIME_SECONDS = 60.0
"""Seconds for which a connection is used, so replicas that start later get their share."""
SILENT_SECONDS = 10
"""Idle seconds before TCP keep-alive begins.

The connection ends after three probes within the same time.
"""
MAX_UNREAD_BYTES = 262_144
"""Bytes of a response body that may wait here for their reader."""
MAX_HEAD_BYTES = 262_144
"""Bytes of a response head, interim responses included. The read that completes the head is not counted."""
LARGE_PART = 65_536
"""Bytes from which a part of a body is written next to its frame. Copying it into its chunk costs more."""

Body = bytes | AsyncIterator[bytes]


class ClientConnection(asyncio.Protocol):
    """A client connection: ``send_request``, then ``read_part`` until the body ends, then ``release``.

    The connection is reused only after the last request was sent completely and its response was read to the
    end. No other bytes may have arrived. Bytes that belong to no request end the connection and are never
    returned. Empty lines between responses are the only exception: the parser skips them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._lasts_until = loop.time() + LIFETIME_SECONDS
        self._requested = False
        """True from the moment of a request until its response was read and the connection released."""
        self._complete = False
        """True when the end of the response has arrived."""
        self._sent = False
        """True when the transport has the whole request."""
        self._paused = self._bodiless = self._keeps_alive = self._is_chunked = False
        self._head_bytes = 0
        self._failure: BaseException | None = None
        self._parts: list[bytes] = []
        self._unread = 0
        self._wants_chunks = False
        self.chunks: ChunkedBody | None = None
        self.good_until = 0.0
        self.heard = self.ended = False
        self.status = 0
        self.headers: Headers = []

    async def send_request(self, head: bytes, body: Body, *, bodiless: bool, wants_chunks: bool) -> None:
        """Send a request, and wait until the head of its response has arrived.

        ``head`` has no framing: a body of bytes adds its Content-Length, a body in parts is sent in chunks.
        ``bodiless``: the response ends with its head, like for HEAD. ``wants_chunks``: `chunks` reads the
        body of the response if it is chunked. Raises ConnectionError, and the errors of the body.
        """
        if self._bodiless or self._wants_chunks:
            # The parser still waits for the body that HEAD leaves out, or that was read without it.
            self._parser = httptools.HttpResponseParser(self)
        self._requested, self._complete, self.heard, self._head_bytes = True, False, False, 0
        self._bodiless, self._wants_chunks, self._sent = bodiless, wants_chunks, isinstance(body, bytes)
        self.status, self.headers, self._is_chunked = 0, [], False
        if isinstance(body, bytes):
            self._write(head + b"\r\n" + body)
        else:
            self._write(head + b"transfer-encoding: chunked\r\n\r\n")
            self._sending = self._loop.create_task(self._send_chunks(body), name="send a body")
        while not self.status:
            await self._wait()

    async def read_part(self) -> tuple[bytes, bool]:
        """Return the next bytes of the response body, and True if more follow.

        Raises the errors of ``send_request``.
        """
        while not self._parts and not self._complete:
            await self._wait()
        part = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._unread = 0
        if self._paused and not self.ended:
            self._paused = False
            self._open_transport().resume_reading()
        return part, not self._complete

    def release(self) -> bool:
        """End the request. Return True if another request may be sent.

        If False, the caller must close the connection.
        """
        if self.chunks is not None and self.chunks.is_whole:
            self._complete, self._keeps_alive = True, self._keeps_alive and not self.chunks.has_surplus
            self._close_chunks()
        now = self._loop.time()
        if (
            self.ended
            or not (self._complete and self._keeps_alive and self._sent)
            or self._parts
            or now >= self._lasts_until
            or self._open_transport().get_write_buffer_size()
        ):
            return False
        self._requested, self._sending = False, None
        self.good_until = min(now + IDLE_SECONDS, self._lasts_until)
        return True

    def is_fit(self) -> bool:
        """True if the idle connection may be reused: it has not expired, and has received no bytes.

        Bytes on an idle connection mean its end, or a response without a request.
        """
        return (
            not self.ended
            and self._loop.time() < self.good_until
            and not is_readable(self._open_transport().get_extra_info("socket").fileno())
        )

    def close(self) -> None:
        """Close the connection immediately."""
        self._close_chunks()
        self.ended = True
        if self._sending is not None:
            self._sending.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _close_chunks(self) -> None:
        if self.chunks is not None:
            self.chunks.close()
            self.chunks = None
            if not self.ended:
                self._open_transport().resume_reading()

    async def _send_chunks(self, body: AsyncIterator[bytes]) -> None:
        try:
            async for part in body:
                if self.ended:
                    return  # the response may have arrived; without a response its reader gets the error
                if not part:
                    continue  # a chunk without bytes would end the body
                if len(part) > LARGE_PART:
                    self._open_transport().writelines((b"%x\r\n" % len(part), part, b"\r\n"))
                else:
                    self._write(b"%x\r\n%b\r\n" % (len(part), part))
                if self._writable is not None:
                    await self._writable
        except asyncio.CancelledError:
            self._fail(ConnectionError("the body of the request was cancelled"))
            raise
        except Exception as error:  # noqa: BLE001 - raised to the caller that waits for the response
            self._fail(error)
            return
        if not self.ended:
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
        if not self._parts and not self._complete:
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
        _enable_keepalive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if not self._requested or self._complete:
            self.close()  # a response to no request
            return
        is_first, self.heard = not self.heard, True
        try:
            if self._bodiless:
                self._feed_lines(data)
            elif self._wants_chunks and is_first:
                self._feed_head(data)
            else:
                self._parser.feed_data(data)
            if not self.status:
                self._count_head(len(data))
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, ValueError) as error:
            if not self._complete:
                self._fail(ConnectionError(f"the response cannot be read: {error.__context__ or error!r}"))
            self.close()
            self._wake()
            return
        if self._unread > MAX_UNREAD_BYTES and not self._paused:
            self._paused = True
            self._open_transport().pause_reading()
        self._wake()

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise ValueError("the head is too large")

    def _feed_lines(self, data: bytes) -> None:
        """Parse a response that ends with its head. Raises ValueError if other bytes follow.

        The parser would treat these bytes as the body.
        """
        for line in data.splitlines(keepends=True):
            if self._complete:
                raise ValueError("bytes follow the response to HEAD")
            self._parser.feed_data(line)

    def _feed_head(self, data: bytes) -> None:
        """Parse the head. Leave a chunked body to ``chunks`` if the request was sent completely.

        The parser reads every other response, also a response whose head is not complete in the first read.
        """
        head, end, body = data.partition(b"\r\n\r\n")
        self._parser.feed_data(head + end)
        if end and self._is_chunked and self._sent:
            transport = self._open_transport()
            transport.pause_reading()
            self.chunks = ChunkedBody(transport.get_extra_info("socket").fileno(), body)
        elif body:
            self._parser.feed_data(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._fail(ConnectionResetError(f"the connection ended: {exc or 'closed'}"))
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # httptools.HttpResponseParser; it reports what these raise as an HttpParserError

    def on_message_begin(self) -> None:
        if self.status:
            raise ValueError("a second response")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:
            raise ValueError("a trailer")
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # an interim response (RFC 9110, section 15.2)
            if any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self.headers):
                raise ValueError("an interim response with a body")
            self.headers = []
            return
        has_body = not self._bodiless and status not in (204, 304)
        framing_error = response_framing_error(
            self._parser.get_http_version(), self.headers, has_body=has_body
        )
        if framing_error:
            raise ValueError(framing_error)
        self._is_chunked = (
            self._wants_chunks
            and has_body
            and any(name.lower() == b"transfer-encoding" for name, _ in self.headers)
        )
        self.status, self._keeps_alive = status, self._parser.should_keep_alive()
        self._complete = self._bodiless

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)
        self._unread += len(body)

    def on_message_complete(self) -> None:
        self._complete = self.status > 0


def _enable_keepalive(connection: socket.socket) -> None:
    """Detect that the other machine disappeared without closing the connection, like pods do (tcp(7))."""
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, SILENT_SECONDS // 3))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 2000 * SILENT_SECONDS)
