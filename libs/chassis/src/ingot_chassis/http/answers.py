"""One request and its answer as uvicorn sees them, with less work between the app and the socket.

The head of an answer waits for the first part of a short body, so that both are one write. Headers are checked
together. A request that is cut off when the process ends is refused, or its connection is closed.
"""

import asyncio
import os
import re
from functools import lru_cache
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from ingot_chassis.errors import UNEXPECTED
from ingot_chassis.zero_copy import EXTENSION, send_file, send_from_pipe

log = structlog.get_logger()

SHORT_BODY = 65_536
"""Bytes of a body for whose first part the head waits; that of a longer one may take its time."""
STOPPING = b'{"message":"the server is stopping; try again"}'
FAILED = b'{"message":"%b"}' % UNEXPECTED.encode()
WITHOUT_BODY = (204, 304)

_BAD_NAME = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_BAD_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@lru_cache(1024)
def wire_name(name: bytes) -> bytes:
    """The name of a header in lower case. Raises RuntimeError for one that would break the head."""
    if _BAD_NAME.search(name):
        raise RuntimeError(f"invalid name of a header: {name!r}")
    return name.lower()


def _framing(fields: list[tuple[bytes, bytes]]) -> tuple[int | None, bool, bool]:
    """What headers say of the body: its length, whether it comes in chunks; and whether the connection ends."""
    length, chunked, closes = None, False, False
    for name, value in fields:
        if name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            chunked = value.lower() == b"chunked"
        elif name == b"connection":
            closes = b"close" in value.lower()
    return length, chunked, closes


class AnswerCycle(RequestResponseCycle):
    """A request in a task of its own, which leaves ``tasks`` when it ends."""

    def __init__(self, *arguments: Any, tasks: set[asyncio.Task[None]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None
        self._head = b""
        """Of the answer, as long as it waits for the body."""
        self._is_until_close = False
        self._connection = -1
        """The socket of the transport under a number of its own, once bytes have gone past the transport."""
        self._chunk_end = b""
        """Of what went past the transport: it waits for the next chunk, so that both are one write."""

    def begin(self, loop: asyncio.AbstractEventLoop, app: Any) -> asyncio.Task[None]:
        """Run it in a task of ``tasks``."""
        self._task = loop.create_task(self.run_asgi(app))
        self._tasks.add(self._task)
        return self._task

    async def run_asgi(self, app: Any) -> None:
        """One that has no answer when it is cut off gets 503; the others lose their connection.

        So nobody takes a part for the whole.
        """
        try:
            await app(self.scope, self.receive, self.send)
            if not self.response_complete and not self.disconnected:
                log.error("a request has no whole answer", path=self.scope["path"])
                await self._fail(500, FAILED)
        except asyncio.CancelledError:
            log.info("request cut off", path=self.scope["path"])
            await self._fail(503, STOPPING, (b"retry-after", b"5"))
        except BaseException:
            log.exception("a request failed outside of the app", path=self.scope["path"])
            await self._fail(500, FAILED)
        finally:
            self.on_response = _nothing
            self._tasks.discard(self._task)
            self._release_connection()

    async def _fail(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        if self.response_complete:
            return  # the connection is that of the next request already
        if self.response_started and not self._head:
            self.transport.close()
            return
        self._head, self.response_started = b"", False
        fixed = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
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
            await self._pass_on(message["file"], message.get("offset"), message["count"])
        else:
            self._go_on(message.get("body", b""), more=message.get("more_body", False))

    def _start(self, status: int, headers: Any) -> None:
        if self.response_started:
            raise RuntimeError("the answer has begun already")
        fields = [(wire_name(name), value) for name, value in (*self.default_headers, *headers)]
        if _BAD_VALUE.search(b"".join([value for _, value in fields])):
            raise RuntimeError("invalid value of a header")
        length, chunked, closes = _framing(fields)
        self.response_started, self.waiting_for_100_continue = True, False
        lines = [STATUS_LINE[status], *[b"%b: %b\r\n" % field for field in fields]]
        if closes:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        is_head = self.scope["method"] == "HEAD"
        is_open = length is None and not chunked and not is_head and status not in WITHOUT_BODY
        # HTTP/1.0 has no chunks: the body ends with the connection (RFC 9112, sections 6.1 and 6.3).
        self._is_until_close = is_open and self.scope["http_version"] == "1.0"
        if is_open and not self._is_until_close:
            chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)
        self.chunked_encoding = chunked
        self.expected_content_length = 0 if chunked or is_head else length or 0
        if chunked or self._is_until_close or self.expected_content_length > SHORT_BODY:
            self._write(b"")

    async def _pass_on(self, file: int, offset: int | None, count: int) -> None:
        """Send bytes of a file, or of a pipe; more of the body comes behind them."""
        self._count(count)
        if self.scope["method"] == "HEAD":
            return
        self._write(b"%x\r\n" % count if self.chunked_encoding else b"")
        if self._connection < 0:
            self.transport.set_write_buffer_limits(high=0)  # what it has comes first
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
            self.transport.abort()  # the client is gone, or a part would be taken for the whole
            self._release_connection()
        else:
            self._chunk_end = b"\r\n" if self.chunked_encoding else b""

    def _release_connection(self) -> None:
        """Without this the connection would stay open when the transport closes it."""
        if self._connection >= 0:
            os.close(self._connection)
            self._connection = -1

    def _count(self, size: int) -> None:
        """Count bytes of the body. Raises RuntimeError where none may come, or not so many."""
        if not self.response_started:
            raise RuntimeError("the answer has not begun")
        if self.response_complete:
            raise RuntimeError("the answer is over")
        if self.scope["method"] != "HEAD" and not self.chunked_encoding and not self._is_until_close:
            self.expected_content_length -= size
            if self.expected_content_length < 0:
                raise RuntimeError("the body is longer than Content-Length")

    def _go_on(self, body: bytes, *, more: bool) -> None:
        self._count(len(body))
        if self.scope["method"] == "HEAD":
            body = b""
        elif self.chunked_encoding:
            body = self._chunk(body) if more else self._chunk(body) + b"0\r\n\r\n"
        self._write(body)
        if not more:
            if self.expected_content_length:
                raise RuntimeError("the body is shorter than Content-Length")
            self._end()

    def _chunk(self, body: bytes) -> bytes:
        """A part in its chunk; a large one is written here, since a copy of it would cost more than all else."""
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
    """After the request nobody waits for its answer."""
