"""HTTP/1.1 from one service to another: kept connections, one request at a time on each, bodies streamed both ways.

Only what services need of each other, since every request pays for it (docs/adr/0011): no redirects, cookies,
proxies, compression or trailers. Framing is RFC 9112; parsing is llhttp's.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Self, cast
from urllib.parse import quote_from_bytes, urlsplit

import httptools

IDLE_SECONDS = 30.0
"""How long an unused connection is trusted; the servers here keep one for longer."""
LIFETIME_SECONDS = 60.0
"""How long a connection is used, so that replicas which come later get their share."""
CONNECT_SECONDS = 2.0
RETRY_PAUSE, LONGEST_PAUSE = 0.05, 0.5
TRIES = 3
"""How often a read is sent whose connection ended without a word; no more, for it may be what ends the server."""
SILENT_SECONDS = 10
"""After so long without a packet the other machine is asked whether it is there, three times in as long again."""
MOST_UNREAD = 262_144
"""Bytes of an answer that may wait here for its reader."""
LARGE_PART = 65_536
"""Bytes of a part of a body that would cost more to copy into its chunk than to write beside its frame."""
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
IDEMPOTENT = SAFE | {"PUT", "DELETE"}
"""RFC 9110, sections 9.2.1 and 9.2.2."""

Headers = list[tuple[bytes, bytes]]
Body = bytes | AsyncIterator[bytes]


def target(raw_path: bytes, query: bytes) -> bytes:
    """Path and query of a request that came in, fit to be sent on as they came."""
    raw = raw_path + b"?" + query if query else raw_path
    return raw if raw.isascii() else quote_from_bytes(raw, safe="!#$%&'()*+,/:;=?@[]~").encode()


class NotConnected(ConnectionError):
    """Nobody listens there: nothing of the request was sent."""


class Answer:
    """A status, headers with names as they came, and a body to be read. Leave it to give the connection back."""

    def __init__(self, connection: "_Connection", give_back: Callable[["_Connection"], None]) -> None:
        self._connection, self._give_back = connection, give_back
        self.status, self.headers = connection.status, connection.headers

    async def part(self) -> tuple[bytes, bool]:
        """The next bytes of the body, and whether more come. Raises ConnectionError, or what the body raised."""
        return await self._connection.part()

    async def whole(self) -> bytes:
        """The rest of the body. Raises as ``part``."""
        parts, more = [], True
        while more:
            part, more = await self.part()
            parts.append(part)
        return b"".join(parts)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._give_back(self._connection)


class Origin:
    """The server at ``url``. A request waits for ``patience`` seconds for one that cannot be reached, as it restarts.

    At most ``max_waiting`` requests do, and the others fail at once.
    """

    def __init__(self, url: str, *, patience: float = 0.0, max_waiting: int = 500) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port or (443 if secure else 80)
        self._prefix, self._authority = parts.path.rstrip("/").encode(), parts.netloc.encode()
        self._tls = ssl.create_default_context() if secure else None
        self._patience, self._max_waiting, self._waiting = patience, max_waiting, 0
        self._idle: list[_Connection] = []

    async def request(
        self, method: str, target: bytes, headers: Iterable[tuple[bytes, bytes]], body: Body
    ) -> Answer:
        """Send and wait for the head of the answer.

        ``target`` and ``headers`` must be fit for the wire. A body in parts is framed by the content-length among
        the headers, or chunked. Raises ConnectionError, or what the body raised. A request is sent again when nobody
        can have begun it, and one that changes nothing also when its connection ended before the answer began.
        """
        give_up = asyncio.get_running_loop().time() + self._patience
        head = b"".join(
            (method.encode(), b" ", self._prefix, target, b" HTTP/1.1\r\nhost: ", self._authority, b"\r\n")
        )
        chunked = not isinstance(body, bytes) and all(name != b"content-length" for name, _ in headers)
        head += b"".join([b"%b: %b\r\n" % header for header in headers])
        if chunked:
            head += b"transfer-encoding: chunked\r\n"
        elif body and isinstance(body, bytes):
            head += b"content-length: %d\r\n" % len(body)
        tries = 0
        while True:
            connection = self._reusable()
            used_before = connection is not None
            connection = connection or await self._opened(give_up)
            tries += 1
            try:
                await connection.ask(head, body, chunked=chunked, bodiless=method == "HEAD")
            except ConnectionError:
                connection.hang_up()
                if connection.heard or body:
                    raise
                # A kept connection may end in the moment in which it is used again.
                if used_before and method in IDEMPOTENT:
                    continue
                if self._patience and tries < TRIES and method in SAFE:
                    continue
                raise
            except BaseException:
                connection.hang_up()
                raise
            return Answer(connection, self._give_back)

    def _reusable(self) -> "_Connection | None":
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if not connection.ended and now < connection.good_until:
                return connection
            connection.hang_up()
        return None

    def _give_back(self, connection: "_Connection") -> None:
        if connection.reusable():
            self._idle.append(connection)
        else:
            connection.hang_up()

    async def _opened(self, give_up: float) -> "_Connection":
        """A new connection; it is tried until ``give_up`` of the loop's time. Raises NotConnected."""
        loop = asyncio.get_running_loop()
        try:
            return await self._connect(loop)
        except OSError as error:
            if self._waiting >= self._max_waiting:
                raise NotConnected(f"{self._host}:{self._port}: {error}; and too many wait") from error
            failure = error
        self._waiting += 1
        try:
            pause = RETRY_PAUSE
            while loop.time() + pause <= give_up:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                try:
                    return await self._connect(loop)
                except OSError as error:
                    failure = error
            raise NotConnected(f"{self._host}:{self._port}: {failure}") from failure
        finally:
            self._waiting -= 1

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> "_Connection":
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await loop.create_connection(
                lambda: _Connection(loop), self._host, self._port, ssl=self._tls
            )
        return connection

    async def close(self) -> None:
        """Close what is not in use."""
        while self._idle:
            self._idle.pop().hang_up()


class _Connection(asyncio.Protocol):
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
        self._failure: BaseException | None = None
        self._parts: list[bytes] = []
        self._unread = 0
        self.good_until = 0.0
        self.heard = self.ended = False
        self.status = 0
        self.headers: Headers = []

    async def ask(self, head: bytes, body: Body, *, chunked: bool, bodiless: bool) -> None:
        """Send a request; return when the head of its answer is there."""
        if self._bodiless:
            self._parser = httptools.HttpResponseParser(
                self
            )  # the last one still waits for what HEAD leaves out
        self._requested, self._whole, self.heard, self._bodiless = True, False, False, bodiless
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
        sent = self._sending is None or self._sending.done()
        now = self._loop.time()
        if (
            not (self._whole and self._keeps and sent and not self._parts)
            or now >= self._lasts_until
            or self.ended
        ):
            return False
        self._requested, self._sending = False, None
        self.good_until = min(now + IDLE_SECONDS, self._lasts_until)
        return True

    def hang_up(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _send(self, body: AsyncIterator[bytes], chunked: bool) -> None:
        try:
            async for part in body:
                if chunked and len(part) > LARGE_PART and not self.ended:
                    self._open_transport().writelines((b"%x\r\n" % len(part), part, b"\r\n"))
                else:
                    self._write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
                if self._writable is not None:
                    await self._writable
            if chunked:
                self._write(b"0\r\n\r\n")
        except ConnectionError:
            return  # the answer may be there all the same; without one its reader hears of the end
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised to the one who waits for the answer
            self._fail(error)

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
        self.heard = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"the answer cannot be read: {error!r}"))
            self.hang_up()
            return
        if self._unread > MOST_UNREAD and not self._paused:
            self._paused = True
            self._open_transport().pause_reading()
        self._wake()

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
