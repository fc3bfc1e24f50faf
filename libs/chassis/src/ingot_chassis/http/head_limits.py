"""HTTP/1.1 as uvicorn speaks it, with bounds on the head of a request, and refusals as the error object.

uvicorn gives an app only whole heads, so no app can bound them: whoever connects could fill the memory of the
process, or keep a connection for ever, before anybody asks who it is.
"""

import asyncio
import os
from asyncio import TimerHandle
from typing import Any, cast
from urllib.parse import unquote

import httptools
import msgspec
import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ingot_chassis.errors import ErrorObject
from ingot_chassis.http.answers import AnswerCycle
from ingot_chassis.http.drain import HEALTH_PATHS, DrainState
from ingot_chassis.zero_copy import EXTENSION, is_readable

log = structlog.get_logger()

MAX_HEAD_BYTES = 65_536
HEAD_SECONDS = 20.0
EXTENSIONS: dict[str, dict[object, object]] = {EXTENSION: {}} if hasattr(os, "splice") else {}
LINGER_SECONDS = 2.0
"""How long a refused client may go on sending; closed at once, it would lose the answer to a connection reset."""


def bounded_http(public_url: str, max_head_bytes: int, head_seconds: float) -> type[HttpToolsProtocol]:
    """The protocol with these bounds; refusals name the API page of ``public_url``."""

    class Configured(BoundedHttp):
        page = public_url.rstrip("/") + "/api/v1/swagger"

    Configured.max_head_bytes, Configured.head_seconds = max_head_bytes, head_seconds
    return Configured


def ambiguity(headers: list[tuple[bytes, bytes]], http_version: str) -> str:
    """Why two programs could read a request with these ``headers`` (names in lower case) differently; empty if not.

    RFC 9112, 3.2 (exactly one Host) and 6.1 (of transfer codings this server knows ``chunked`` alone).
    """
    hosts, codings = 0, list[bytes]()
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"transfer-encoding":
            codings.append(value.strip().lower())
    if hosts > 1 or (not hosts and http_version == "1.1"):
        return "The request needs exactly one Host header."
    if codings and codings != [b"chunked"]:
        return "Transfer-Encoding can be chunked alone."
    return ""


class BoundedHttp(HttpToolsProtocol):
    """Counts the bytes from which no head, body or end of a message has come yet, and no others.

    These are heads, and what surrounds the data of a chunked body: sizes, extensions, trailers. A head that
    begins in the middle of a read is counted from the next read on, so it may be twice as large.
    """

    page = ""
    max_head_bytes = MAX_HEAD_BYTES
    head_seconds = HEAD_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pending = 0
        self._head_begun = False
        self._timer: TimerHandle | None = None
        self._refusal: tuple[int, str] | None = None
        self._ambiguity = ""
        self._idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self.timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        if len(data) <= self.max_head_bytes - self._pending:
            self._feed(data)
        else:
            self._feed_in_pieces(memoryview(data))
        self._watch_the_time()

    def _watch_the_time(self) -> None:
        if self._refusal is not None:
            return
        if not self._head_begun and not self._pending:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._on_late)

    def _feed_in_pieces(self, data: memoryview) -> None:
        """So that the limit does not depend on how the network cuts a request."""
        while data and self._refusal is None:
            free = self.max_head_bytes - self._pending
            self._feed(data[:free])
            data = data[free:]

    def _feed(self, data: bytes | memoryview) -> None:
        self._pending += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse(400, self._ambiguity or "Invalid HTTP request received.")
        except httptools.HttpParserUpgrade:
            pass  # to what is not spoken here; the request itself is answered as if it had not asked
        else:
            if self._pending >= self.max_head_bytes:
                self._refuse(431, "The request line and headers are larger than the limit.")

    def on_message_begin(self) -> None:
        self._head_begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._pending = 0
        version = self.parser.get_http_version()
        self._ambiguity = ambiguity(self.headers, version)
        if self._ambiguity:
            raise ValueError(self._ambiguity)  # the parser stops, and `_feed` refuses
        self._begin(version)
        self._head_begun = False
        self._stop_timer()

    def _begin(self, version: str) -> None:
        """As uvicorn's ``on_headers_complete``, which knows one kind of cycle."""
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope = self.scope
        scope["http_version"], scope["method"] = version, self.parser.get_method().decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"], scope["query_string"] = url.path, url.query or b""
        scope["extensions"] = EXTENSIONS
        before = self.cycle
        state = cast("DrainState", self.server_state)
        if state.draining and scope["path"] not in HEALTH_PATHS:
            state.last_request = self.loop.time()
        self.cycle = AnswerCycle(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            False,
            state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            version != "1.0" and self.parser.should_keep_alive() and not state.draining,
            self.on_response_complete,
            tasks=self.tasks,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.begin(self.loop, app)

    def on_body(self, body: bytes) -> None:
        self._pending = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.transport.is_closing():
            return
        self._idle_since = self.loop.time()
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._refusal is not None and self.cycle.response_complete:
            self._tell_and_close(*self._refusal)

    def timeout_keep_alive_handler(self) -> None:
        """One timer for all requests of a connection: setting it anew for each costs more than looking at the time."""
        wait = float(self.timeout_keep_alive)
        if not (self._answering() or self._head_begun or self._pending):
            wait += self._idle_since - self.loop.time()
        if wait > 0:
            self.timeout_keep_alive_task = self.loop.call_later(wait, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def announce_end(self) -> None:
        """Let the answer that is made now end the connection; one whose head was sent cannot say so any more."""
        if self._answering() and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """End the connection: at once if nothing runs on it, else after the answer.

        A request that arrives is awaited, also one that has come and was not read yet: its client may not send it again.
        """
        if self._head_begun or self._refusal is not None or self.transport.is_closing():
            return
        if self._answering() or not is_readable(self.transport.get_extra_info("socket").fileno()):
            super().shutdown()

    def _on_late(self) -> None:
        self._timer = None
        if self._answering():  # reading may be paused until it is answered; the client is not at fault
            self._timer = self.loop.call_later(self.head_seconds, self._on_late)
        elif self._head_begun:
            self._refuse(408, "The request did not arrive in time.")
        else:
            self.transport.close()

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, status: int, message: str) -> None:
        """Read no further; tell the client when it has the answers to what it asked before."""
        self._refusal = (status, message)
        self._stop_timer()
        log.info("request refused", status=status, reason=message, client=self.client)
        if not self._answering():
            self._tell_and_close(status, message)
        elif not self._head_begun and self.cycle.more_body:
            self._break_off(status, message)

    def _break_off(self, status: int, message: str) -> None:
        """End a request whose body cannot be read; what waits for the rest hears that the client is gone."""
        started = self.cycle.response_started or self.pipeline
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        if started:
            self.transport.close()
        else:
            self._tell_and_close(status, message)

    def _tell_and_close(self, status: int, message: str) -> None:
        body = msgspec.json.encode(ErrorObject(message=message, url=self.page))
        head = [STATUS_LINE[status]]
        head += [name + b": " + value + b"\r\n" for name, value in self.server_state.default_headers]
        head.append(b"content-type: application/json\r\nconnection: close\r\n")
        head.append(b"content-length: %d\r\n\r\n" % len(body))
        self._unset_keepalive_if_required()
        self.transport.write(b"".join([*head, body]))
        self.transport.write_eof()
        self.flow.resume_reading()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
