"""HTTP/1.1 for uvicorn: plain framing only, and limits on the size and time of a request head.

uvicorn passes only complete heads to an app, so no app can limit them. Without limits an anonymous client
could fill the memory of the process, or hold a connection forever.
"""

import asyncio
import os
import time
from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable, Collection
from email.utils import formatdate
from typing import Any, cast
from urllib.parse import unquote

import httptools
import structlog
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from ingot_wire.framing import request_framing_error
from ingot_wire.response_cycle import ResponseCycle
from ingot_wire.zero_copy import EXTENSION, has_hung_up, is_readable

log = structlog.get_logger()

MAX_HEAD_BYTES = 65_536
HEAD_SECONDS = 20.0
EXTENSIONS: dict[str, dict[object, object]] = {EXTENSION: {}} if hasattr(os, "splice") else {}
LINGER_SECONDS = 2.0
"""The time in which a rejected client may go on sending.

If the server closed at once, a reset could discard the error.
"""
WATCH_SECONDS = 1.0
"""The time between two checks whether the client of a pipelined request has left."""
MAX_PIPELINED = 100
"""The most requests that may wait on one connection for the responses to earlier ones."""


class DrainState(ServerState):
    """State that all connections of a server share."""

    def __init__(self) -> None:
        super().__init__()
        self.draining = False
        """True if each response ends its connection, so the client connects to another process."""
        self.last_request = 0.0
        """The loop's time of the last request during draining.

        Requests for ``uncounted_paths`` do not count.
        """
        self._second = 0

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of every response: the date. An idle server does not update it."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self.default_headers = [(b"date", formatdate(second, usegmt=True).encode())]
        return self.default_headers


class PipelineFlow(FlowControl):
    """Flow control that reads nothing while requests wait in ``pipeline``: they could fill the memory."""

    def __init__(self, transport: asyncio.Transport, pipeline: deque[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        if not self._pipeline:
            super().resume_reading()


def server_protocol(
    error_body: Callable[[str], bytes],
    *,
    max_head_bytes: int = MAX_HEAD_BYTES,
    head_seconds: float = HEAD_SECONDS,
    uncounted_paths: Collection[str] = (),
) -> type[HttpToolsProtocol]:
    """Return the protocol class for uvicorn with these limits.

    ``error_body`` returns the JSON body of an error for its message. ``uncounted_paths`` are requested as
    long as the process runs. So a server that drains does not wait for them.
    """

    class Configured(BoundedProtocol):
        """The protocol with the limits of one server."""

    Configured.error_body = staticmethod(error_body)
    Configured.max_head_bytes, Configured.head_seconds = max_head_bytes, head_seconds
    Configured.uncounted_paths = frozenset(uncounted_paths)
    return Configured


class BoundedProtocol(HttpToolsProtocol):
    """Reads requests with plain framing and rejects all others (`framing.request_framing_error`).

    The size limit applies to heads, and to the sizes and extensions of chunks. So only bytes are counted that
    have not yet become a head, body data or the end of a message. A head that begins in the middle of a read
    is counted from the next read on. So a head may be twice as large as the limit.
    """

    error_body: Callable[[str], bytes]
    max_head_bytes = MAX_HEAD_BYTES
    head_seconds = HEAD_SECONDS
    uncounted_paths: frozenset[str] = frozenset()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pending = 0
        self._head_begun = self._in_body = False
        self._timer: TimerHandle | None = None
        self._rejection: tuple[int, str] | None = None
        self._framing_error = ""
        self._cycle_before: ResponseCycle | None = None
        self._running: ResponseCycle | None = None
        """The request whose response is next; `cycle` is the last request that has begun to arrive."""
        self._watch: TimerHandle | None = None
        self._idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = PipelineFlow(transport, self.pipeline)
        self._idle_since = self.loop.time()
        self.timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._unset_keepalive_if_required()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        super().connection_lost(exc)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        self.pipeline.clear()

    def data_received(self, data: bytes) -> None:
        if self._rejection is not None:
            return
        if len(data) <= self.max_head_bytes - self._pending:
            self._feed(data)
        else:
            self._feed_in_pieces(memoryview(data))
        self._watch_time()

    def _watch_time(self) -> None:
        if self._rejection is not None:
            return
        if not self._head_begun and not self._pending:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._on_late)

    def _feed_in_pieces(self, data: memoryview) -> None:
        """Feed the parser in pieces, so the limit does not depend on the sizes of network reads.

        A piece has at most the allowed bytes.
        """
        while data and self._rejection is None:
            free = self.max_head_bytes - self._pending
            self._feed(data[:free])
            data = data[free:]

    def _feed(self, data: bytes | memoryview) -> None:
        self._pending += len(data)
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._reject(400, self._framing_error or "Invalid HTTP request received.")
        else:
            if self._pending >= self.max_head_bytes:
                self._reject(431, "The request line and headers are larger than the limit.")

    def on_message_begin(self) -> None:
        self._head_begun = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_begun:
            self._stop_parser("Trailers are not supported; send all headers before the body.")
        name = name.lower()
        if name == b"expect":  # with any value: its sender may wait, or not send the body at all
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._pending = 0
        version, method = self.parser.get_http_version(), self.parser.get_method().decode("ascii")
        if framing_error := request_framing_error(method, version, self.headers):
            self._stop_parser(framing_error)
        if len(self.pipeline) >= MAX_PIPELINED:
            self._stop_parser(f"More than {MAX_PIPELINED} requests wait on this connection.")
        self._begin(version, method)
        self._head_begun, self._in_body = False, True
        self._stop_timer()

    def _stop_parser(self, framing_error: str) -> None:
        """Stop the parser with a ValueError, so ``_feed`` rejects the request with this message."""
        self._framing_error = framing_error
        raise ValueError(framing_error)

    def _begin(self, version: str, method: str) -> None:
        """Start or queue the request, like uvicorn, but with a ``ResponseCycle``."""
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope = self.scope
        scope["http_version"], scope["method"] = version, method
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"], scope["query_string"] = url.path, url.query or b""
        scope["extensions"] = EXTENSIONS
        before = self._cycle_before = cast("ResponseCycle | None", self.cycle)
        state = cast("DrainState", self.server_state)
        if state.draining and scope["path"] not in self.uncounted_paths:
            state.last_request = self.loop.time()
        self.cycle = ResponseCycle(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            False,
            state.headers(),
            asyncio.Event(),
            self.expect_100_continue and version != "1.0",  # RFC 9110, section 10.1.1
            version != "1.0" and self.parser.should_keep_alive() and not state.draining,
            self.on_response_complete,
            tasks=self.tasks,
            error_body=self.error_body,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))
            if self._watch is None:
                self._watch = self.loop.call_later(WATCH_SECONDS, self._watch_client)

    def _watch_client(self) -> None:
        """Close the connection if the client has disconnected; otherwise check again later.

        While requests wait, nothing is read, so a disconnect would not be noticed otherwise.
        """
        self._watch = None
        if not self.pipeline or self.transport.is_closing():
            return
        if has_hung_up(self.transport.get_extra_info("socket").fileno()):
            self.transport.close()
        else:
            self._watch = self.loop.call_later(WATCH_SECONDS, self._watch_client)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        cycle.begin(self.loop, app)

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        if self.cycle.response_complete:
            return
        self.cycle.body += body
        if len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._pending, self._in_body = 0, False
        if not self.cycle.response_complete:
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        if self.transport.is_closing():
            return
        self._idle_since = self.loop.time()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._rejection is not None and self.cycle.response_complete:
            self._send_rejection(*self._rejection)
        self.flow.resume_reading()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it was idle for too long.

        One timer serves all requests of a connection.
        """
        wait = float(self.timeout_keep_alive)
        if not (self._answering() or self._head_begun or self._pending):
            wait += self._idle_since - self.loop.time()
        if wait > 0:
            self.timeout_keep_alive_task = self.loop.call_later(wait, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def announce_end(self) -> None:
        """Close the connection after the response to its last request.

        Do nothing if the connection is idle, or if the head of this response was already sent.
        """
        if self._answering() and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close the connection: immediately if it is idle, else after the response.

        A request that is arriving is served, even if no byte of it has been read: its client may not send it
        again.
        """
        if self._head_begun or self._rejection is not None or self.transport.is_closing():
            return
        if self._answering() or not is_readable(self.transport.get_extra_info("socket").fileno()):
            super().shutdown()

    def _on_late(self) -> None:
        self._timer = None
        if self._answering():  # reading may be paused until the response is sent; the client is not late
            self._timer = self.loop.call_later(self.head_seconds, self._on_late)
        elif self._head_begun:
            self._reject(408, "The request did not arrive in time.")
        else:
            self.transport.close()

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _reject(self, status: int, message: str) -> None:
        """Stop reading, and send this error after the responses to earlier requests.

        If the broken body belongs to a request that already has its response, the connection is closed. A
        second response would be read as the response to the next request.
        """
        self._rejection = (status, message)
        self._stop_timer()
        log.info("request rejected", status=status, reason=message, client=self.client)
        if not self._in_body:
            if not self._answering():
                self._send_rejection(status, message)
        elif self._answering():
            self._break_off(status, message)
        else:
            self.transport.close()

    def _break_off(self, status: int, message: str) -> None:
        """End a request whose body cannot be read. For its handler, the client has disconnected.

        If the request is waiting for earlier requests, their responses are sent first, then the error.
        """
        if self.pipeline:
            self.pipeline.popleft()
            self.cycle = self._cycle_before  # type: ignore[assignment]
            return
        self.cycle.disconnected, self.cycle.waiting_for_100_continue = True, False
        self.cycle.message_event.set()
        if self.cycle.response_started:
            self.transport.close()
        else:
            self._send_rejection(status, message)

    def _send_rejection(self, status: int, message: str) -> None:
        body = self.error_body(message)
        # Without a URL the parser may still have the method of the request before.
        has_method = (self._head_begun or self._in_body) and bool(self.url)
        is_head = has_method and self.parser.get_method() == b"HEAD"
        head = [STATUS_LINE[status]]
        headers = cast("DrainState", self.server_state).headers()
        head += [name + b": " + value + b"\r\n" for name, value in headers]
        head.append(b"content-type: application/json\r\nconnection: close\r\n")
        head.append(b"content-length: %d\r\n\r\n" % len(body))
        self._unset_keepalive_if_required()
        self.transport.write(b"".join(head) if is_head else b"".join([*head, body]))
        self.transport.write_eof()
        self.flow.resume_reading()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
