"""A request and its response in uvicorn, with less work between the app and the socket.

The head of a response waits for the first part of a short body, so both are one write. This module writes the
framing of the response. An app may set a Content-Length: then the body must have exactly that many bytes.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from ingot_wire.framing import Headers, check_values, header_name
from ingot_wire.zero_copy import EXTENSION, send_file, send_from_pipe

log = structlog.get_logger()

SHORT_BODY = 65_536
"""Bytes of a short body. Its head waits for the first part; a longer body may be slow."""
STOPPING = "The server is stopping; try again."
FAILED = "The request failed; the log has the details."
WITHOUT_BODY = (204, 304)
"""Statuses whose responses end with the head (RFC 9112, section 6.3)."""
OWN_HEADERS = frozenset((b"connection", b"keep-alive", b"trailer", b"transfer-encoding", b"upgrade"))
"""Headers that an app cannot set, since they belong to the connection."""


class ResponseCycle(RequestResponseCycle):
    """A request that runs in its own task. The task is removed from ``tasks`` when it ends.

    ``error_body`` returns the JSON body of an error for its message.
    """

    def __init__(
        self,
        *arguments: Any,
        tasks: set[asyncio.Task[None]],
        error_body: Callable[[str], bytes],
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._tasks, self._error_body = tasks, error_body
        self._task: asyncio.Task[None] | None = None
        self._head = b""
        """The head of the response while it waits for the body."""
        self._is_until_close = False
        self._bodiless = False
        """True if the response ends with its head: what the app sends as its body is not written."""
        self._connection = -1
        """A duplicate of the transport's socket, once bytes have bypassed the transport."""
        self._chunk_end = b""
        """The end of a chunk that bypassed the transport.

        It waits for the next chunk, so both are one write.
        """

    def begin(self, loop: asyncio.AbstractEventLoop, app: Any) -> asyncio.Task[None]:
        """Run the app in a task, which is added to ``tasks``. Return the task."""
        self._task = loop.create_task(self.run_asgi(app))
        self._tasks.add(self._task)
        return self._task

    async def run_asgi(self, app: Any) -> None:
        """Run the app. If the request fails or is cancelled before its response begins, send 500 or 503.

        After the response has begun, close the connection. So no client mistakes a part of a response for all
        of it.
        """
        try:
            await app(self.scope, self.receive, self.send)
            if not self.response_complete and not self.disconnected:
                log.error("a request has no complete response", path=self.scope["path"])
                await self._fail(500, FAILED)
        except asyncio.CancelledError:
            log.info("request cancelled", path=self.scope["path"])
            await self._fail(503, STOPPING, (b"retry-after", b"5"))
        except BaseException:
            log.exception("a request failed outside the app", path=self.scope["path"])
            await self._fail(500, FAILED)
        finally:
            self.on_response = _nothing
            self._tasks.discard(self._task)
            self._release_connection()

    async def _fail(self, status: int, message: str, *headers: tuple[bytes, bytes]) -> None:
        if self.response_complete:
            return  # the connection belongs to the next request already
        if self.response_started and not self._head:
            self.transport.close()
            return
        self._head, self.response_started = b"", False
        body = self._error_body(message)
        fixed = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        self.keep_alive = False
        await self.send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
        await self.send({"type": "http.response.body", "body": body})

    async def send(self, message: Any) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
        elif message["type"] == EXTENSION:
            await self._send_zero_copy(message["file"], message.get("offset"), message["count"])
        else:
            self._continue(message.get("body", b""), more=message.get("more_body", False))

    def _start(self, status: int, headers: Any) -> None:
        if self.response_started:
            raise RuntimeError("the response has begun already")
        if status < 200:
            raise RuntimeError(f"an app cannot send an interim response: {status}")
        self._bodiless = self.scope["method"] == "HEAD" or status in WITHOUT_BODY
        fields, length = self._split_framing((*self.default_headers, *headers))
        if length == 0 or status in WITHOUT_BODY:
            fields = [field for field in fields if field[0] != b"content-type"]
        if status == 204:
            length = None  # RFC 9110, section 8.6
        if self.waiting_for_100_continue:
            # The client may send the body or leave it out (RFC 9110, section 10.1.1).
            self.keep_alive = False
        self.response_started, self.waiting_for_100_continue = True, False
        lines = [STATUS_LINE[status], *[b"%b: %b\r\n" % field for field in fields]]
        is_open = length is None and not self._bodiless
        # HTTP/1.0 has no chunks: the body ends with the connection (RFC 9112, sections 6.1 and 6.3).
        self._is_until_close = is_open and self.scope["http_version"] == "1.0"
        self.chunked_encoding = is_open and not self._is_until_close
        if length is not None:
            lines.append(b"content-length: %d\r\n" % length)
        elif self.chunked_encoding:
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n")
        self._head = b"".join(lines)
        self.expected_content_length = 0 if self._bodiless else length or 0
        if is_open or self.expected_content_length > SHORT_BODY:
            self._write(b"")

    def _split_framing(self, headers: Any) -> tuple[Headers, int | None]:
        """Return the headers without headers of the connection, and the Content-Length, or None.

        ``Connection: close`` ends the connection after the response. Raises RuntimeError if the
        Content-Length is ambiguous.
        """
        fields: Headers = []
        length: int | None = None
        for sent_name, value in headers:
            name = header_name(sent_name)
            if name == b"content-length":
                if not value.isdigit() or (length is not None and length != int(value)):
                    raise RuntimeError(f"the app sent an ambiguous Content-Length: {value!r}")
                length = int(value)
            elif name not in OWN_HEADERS:
                fields.append((name, value))
            elif name == b"connection" and b"close" in value.lower():
                self.keep_alive = False
        check_values(fields)
        return fields, length

    async def _send_zero_copy(self, file: int, offset: int | None, count: int) -> None:
        """Send bytes of a file or a pipe as a part of the body, which is not the last part.

        ``file`` is a descriptor, and a pipe if ``offset`` is None.
        """
        self._count(count)
        if self._bodiless or not count:  # a chunk without bytes would end the body
            return
        self._write(b"%x\r\n" % count if self.chunked_encoding else b"")
        if self._connection < 0:
            self.transport.set_write_buffer_limits(high=0)  # first it sends what it has
        await self.flow.drain()
        if self.disconnected:
            return
        if self._connection < 0:
            self._connection = os.dup(self.transport.get_extra_info("socket").fileno())
        try:
            if offset is None:
                await send_from_pipe(file, self._connection, count)
            else:
                await send_file(file, self._connection, offset, count)
        except OSError:
            self.transport.abort()  # the client disconnected, or a part would look complete
            self._release_connection()
        else:
            self._chunk_end = b"\r\n" if self.chunked_encoding else b""

    def _release_connection(self) -> None:
        """Close the duplicate socket. It would keep the connection open after the transport has closed it."""
        if self._connection >= 0:
            os.close(self._connection)
            self._connection = -1

    def _count(self, size: int) -> None:
        """Subtract ``size`` bytes of the body from the rest of the Content-Length.

        Raises RuntimeError if the body is longer, or if the response has not begun or is complete.
        """
        if not self.response_started:
            raise RuntimeError("the response has not begun")
        if self.response_complete:
            raise RuntimeError("the response is complete already")
        if not self._bodiless and not self.chunked_encoding and not self._is_until_close:
            self.expected_content_length -= size
            if self.expected_content_length < 0:
                raise RuntimeError("the body is longer than Content-Length")

    def _continue(self, body: bytes, *, more: bool) -> None:
        self._count(len(body))
        if self._bodiless:
            body = b""
        elif self.chunked_encoding:
            body = self._chunk(body) if more else self._chunk(body) + b"0\r\n\r\n"
        self._write(body)
        if not more:
            if self.expected_content_length:
                raise RuntimeError("the body is shorter than Content-Length")
            self._end()

    def _chunk(self, body: bytes) -> bytes:
        """Return a part as a chunk. Write a large part directly, because a copy would cost too much.

        In that case return no bytes.
        """
        if len(body) > SHORT_BODY:
            end, self._chunk_end = self._chunk_end, b""
            self.transport.writelines((b"%b%x\r\n" % (end, len(body)), body, b"\r\n"))
            return b""
        return b"%x\r\n%b\r\n" % (len(body), body) if body else b""

    def _write(self, data: bytes) -> None:
        before, self._head, self._chunk_end = self._head or self._chunk_end, b"", b""
        if before or data:
            self.transport.write(before + data)

    def _end(self) -> None:
        self.response_complete = True
        self.message_event.set()
        if self._connection >= 0 and not self.transport.is_closing():
            self.transport.set_write_buffer_limits()
        self._release_connection()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


def _nothing() -> None:
    """Do nothing. This replaces ``on_response`` when the request has ended."""
