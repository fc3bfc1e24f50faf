"""HTTP/1.1 from one service to another: kept connections, one request at a time on each, bodies streamed both ways.

Only what services need of each other, since every request pays for it (docs/adr/0011): no redirects, cookies,
proxies, compression or trailers. Framing is RFC 9112; parsing is llhttp's.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable
from typing import Self
from urllib.parse import quote_from_bytes, urlsplit

from ingot_chassis.peers.chunked_body import ChunkedBody
from ingot_chassis.peers.connection import Body, Connection

CONNECT_SECONDS = 2.0
RETRY_PAUSE, LONGEST_PAUSE = 0.05, 0.5
TRIES = 3
"""How often a read is sent whose connection ended without a word; no more, for it may be what ends the server."""
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
IDEMPOTENT = SAFE | {"PUT", "DELETE"}
"""RFC 9110, sections 9.2.1 and 9.2.2."""


def target(raw_path: bytes, query: bytes) -> bytes:
    """Path and query of a request that came in, fit to be sent on as they came."""
    raw = raw_path + b"?" + query if query else raw_path
    return raw if raw.isascii() else quote_from_bytes(raw, safe="!#$%&'()*+,/:;=?@[]~").encode()


class NotConnected(ConnectionError):
    """Nobody listens there: nothing of the request was sent."""


class Answer:
    """A status, headers with names as they came, and a body to be read. Leave it to give the connection back."""

    def __init__(self, connection: Connection, give_back: Callable[[Connection], None]) -> None:
        self._connection, self._give_back = connection, give_back
        self.status, self.headers = connection.status, connection.headers

    async def part(self) -> tuple[bytes, bool]:
        """The next bytes of the body, and whether more come. Raises ConnectionError, or what the body raised."""
        return await self._connection.part()

    @property
    def chunks(self) -> ChunkedBody | None:
        """The body instead of ``part``, where it was asked for in chunks and comes in them."""
        return self._connection.chunks

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
        self._idle: list[Connection] = []

    async def request(
        self,
        method: str,
        target: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        body: Body,
        *,
        in_chunks: bool = False,
    ) -> Answer:
        """Send and wait for the head of the answer.

        ``target`` and ``headers`` must be fit for the wire. A body in parts is framed by the content-length among
        the headers, or chunked. ``in_chunks``: the body of the answer may be read as ``chunks``. Raises ConnectionError, or what the body raised. A request is sent again when nobody
        can have begun it, and one that changes nothing also when its connection ended before the answer began.
        """
        give_up = asyncio.get_running_loop().time() + self._patience
        head = b"".join(
            (method.encode(), b" ", self._prefix, target, b" HTTP/1.1\r\nhost: ", self._authority, b"\r\n")
        )
        chunked = not isinstance(body, bytes) and all(name != b"content-length" for name, _ in headers)
        lines = [b"%b: %b\r\n" % header for header in headers]
        head += b"".join(lines)
        if head.count(b"\n") != len(lines) + 2 or head.count(b"\r") != len(lines) + 2:
            raise ValueError("a line break in the head of a request")
        if chunked:
            head += b"transfer-encoding: chunked\r\n"
        elif body and isinstance(body, bytes):
            head += b"content-length: %d\r\n" % len(body)
        tries = 0
        while True:
            connection = self._reusable(looks=bool(body) or method not in IDEMPOTENT)
            used_before = connection is not None
            connection = connection or await self._opened(give_up)
            tries += 1
            try:
                await connection.ask(
                    head,
                    body,
                    chunked=chunked,
                    bodiless=method == "HEAD",
                    in_chunks=in_chunks and self._tls is None,
                )
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

    def _reusable(self, *, looks: bool) -> Connection | None:
        """``looks``: the request is sent once only, so see whether the other side has ended the connection just now."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if (
                not connection.ended
                and now < connection.good_until
                and not (looks and connection.has_input())
            ):
                return connection
            connection.hang_up()
        return None

    def _give_back(self, connection: Connection) -> None:
        if connection.reusable():
            self._idle.append(connection)
        else:
            connection.hang_up()

    async def _opened(self, give_up: float) -> Connection:
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

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> Connection:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await loop.create_connection(
                lambda: Connection(loop), self._host, self._port, ssl=self._tls
            )
        return connection

    async def close(self) -> None:
        """Close what is not in use."""
        while self._idle:
            self._idle.pop().hang_up()
