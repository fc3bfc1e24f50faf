"""The HTTP/1.1 client between services.

It keeps connections open, sends one request at a time on each, and streams bodies in both directions. It has
only the features that services need, because each feature costs time in every request (ADR 11). There are no
redirects, cookies, proxies, compression or trailers. Callers set no framing: the client writes it from the
bytes that are sent.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable
from typing import Self
from urllib.parse import quote_from_bytes, urlsplit

from ingot_wire.chunked_body import ChunkedBody
from ingot_wire.client_connection import Body, ClientConnection
from ingot_wire.framing import request_head

CONNECT_SECONDS = 2.0
RETRY_PAUSE, LONGEST_PAUSE = 0.05, 0.5
TRIES = 3
"""Attempts for a read whose connection ended before the response.

The limit exists because the read may be what crashes the server.
"""
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
IDEMPOTENT = SAFE | {"PUT", "DELETE"}
"""Idempotent methods (RFC 9110, sections 9.2.1 and 9.2.2)."""
WITH_CONTENT = frozenset(("POST", "PUT", "PATCH"))
"""Methods whose requests give a Content-Length even without a body (RFC 9110, section 8.6)."""


def target(raw_path: bytes, query: bytes) -> bytes:
    """Return path and query of a received request as the target of a request to another server."""
    raw = raw_path + b"?" + query if query else raw_path
    return raw if raw.isascii() else quote_from_bytes(raw, safe="!#$%&'()*+,/:;=?@[]~").encode()


class NotConnected(ConnectionError):
    """The server cannot be reached; no byte of the request was sent."""


class Response:
    """A status, headers with names in the case of the server, and a body to read.

    Leaving the context releases the connection.
    """

    def __init__(self, connection: ClientConnection, release: Callable[[ClientConnection], None]) -> None:
        self._current: ClientConnection | None = connection
        self._release = release
        self.status, self.headers = connection.status, connection.headers

    @property
    def _connection(self) -> ClientConnection:
        if self._current is None:
            raise RuntimeError("the response was released; its connection belongs to another request")
        return self._current

    async def read_part(self) -> tuple[bytes, bool]:
        """Return the next bytes of the body, and True if more follow.

        Raises ConnectionError, or the error that the request body raised.
        """
        return await self._connection.read_part()

    @property
    def chunks(self) -> ChunkedBody | None:
        """Return the chunked body, to be read instead of ``read_part``; None if ``read_part`` must be used.

        It is None if the body is not chunked, or if the request was sent without ``in_chunks``. It may be
        None in other cases, for example over TLS.
        """
        return self._connection.chunks

    async def read(self) -> bytes:
        """Return the rest of the body. Raises the errors of ``read_part``."""
        return await read_rest(self.read_part)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        connection, self._current = self._current, None
        if connection is not None:
            self._release(connection)


async def read_rest(read_part: Callable[[], Awaitable[tuple[bytes, bool]]]) -> bytes:
    """Return the rest of a body that is read in parts. Raises the errors of ``read_part``."""
    parts, more = [], True
    while more:
        part, more = await read_part()
        parts.append(part)
    return b"".join(parts)


class Origin:
    """The server at ``url``. If it cannot be reached, a request retries for up to ``patience`` seconds.

    At most ``max_waiting`` requests wait; further requests fail immediately.
    """

    def __init__(self, url: str, *, patience: float = 0.0, max_waiting: int = 500) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port or (443 if secure else 80)
        self._prefix, self._authority = parts.path.rstrip("/").encode(), parts.netloc.encode()
        self._tls = ssl.create_default_context() if secure else None
        self._patience, self._max_waiting, self._waiting = patience, max_waiting, 0
        self._idle: list[ClientConnection] = []

    async def request(
        self,
        method: str,
        target: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        body: Body,
        *,
        in_chunks: bool = False,
    ) -> Response:
        """Send a request and return its response when the head of the response has arrived.

        ``headers`` must not contain framing (`framing.FRAMING_HEADERS`). A body of bytes is sent with its
        Content-Length, a body in parts in chunks. ``in_chunks``: the body of the response may be read as
        ``chunks``.

        Connecting is retried within ``patience``. A request without a body is also retried if its connection
        ended before the response. This applies to an idempotent request on a reused connection. With
        ``patience`` it also applies to a read, which is sent up to ``TRIES`` times.

        Raises:
            NotConnected: the server cannot be reached; no byte of the request was sent.
            ConnectionError: the connection ended before the response, or the response is invalid.
            ValueError: the head of the request is invalid.

        Errors of ``body`` are raised here, too.
        """
        give_up = asyncio.get_running_loop().time() + self._patience
        head = request_head(method, self._prefix + target, self._authority, headers)
        if isinstance(body, bytes) and (body or method in WITH_CONTENT):
            head += b"content-length: %d\r\n" % len(body)
        tries = 0
        while True:
            connection = self._take_idle()
            used_before = connection is not None
            connection = connection or await self._connect_patiently(give_up)
            tries += 1
            try:
                await connection.send_request(
                    head,
                    body,
                    bodiless=method == "HEAD",
                    wants_chunks=in_chunks and self._tls is None,
                )
            except ConnectionError:
                connection.close()
                if connection.heard or body:
                    raise
                # An idle connection may be closed at the moment in which it is reused.
                if used_before and method in IDEMPOTENT:
                    continue
                if self._patience and tries < TRIES and method in SAFE:
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            return Response(connection, self._release)

    def _take_idle(self) -> ClientConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_fit():
                return connection
            connection.close()
        return None

    def _release(self, connection: ClientConnection) -> None:
        if connection.release():
            self._idle.append(connection)
        else:
            connection.close()

    async def _connect_patiently(self, give_up: float) -> ClientConnection:
        """Return a new connection. Retry until the loop's time is ``give_up``. Raises NotConnected."""
        loop = asyncio.get_running_loop()
        try:
            return await self._connect(loop)
        except OSError as error:
            if self._waiting >= self._max_waiting:
                raise NotConnected(
                    f"{self._host}:{self._port}: {error}; and {self._waiting} requests are waiting already"
                ) from error
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

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> ClientConnection:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await loop.create_connection(
                lambda: ClientConnection(loop), self._host, self._port, ssl=self._tls
            )
        return connection

    async def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()
