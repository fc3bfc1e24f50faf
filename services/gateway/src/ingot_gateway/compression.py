"""Compresses JSON responses and pages with gzip, for clients that accept it.

Only responses to GET are compressed. The length of a compressed response shows if it contains a guess from
the request (the attack BREACH). So no response with a secret is compressed: tokens and secrets of
applications are only in responses to POST. The token of a page's forms differs in each response. Another
site's page can make its visitors send guesses. So requests that a browser sends for another site's page get
no compressed response. Files and git are not compressed.
"""

import asyncio
import re
import zlib
from collections.abc import Iterable

from litestar.enums import ScopeType
from litestar.types import (
    ASGIApp,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    HTTPScope,
    Message,
    Receive,
    Scope,
    Send,
)

LEAST_BYTES = 1400
"""Minimum size of a compressed response in bytes. A smaller one fits into one packet anyway."""
LEVEL = 4
"""The compression level. Higher levels take twice the time for a few percent."""
COMPRESSED = (b"application/json", b"text/html", b"text/css", b"text/javascript")
"""Prefixes of compressed media types: responses of the API, pages, their style sheet and scripts."""
PIECE = 65_536
"""Bytes that are compressed at once. Other requests run between two pieces."""
GZIP = 16 + zlib.MAX_WBITS
_WEIGHT_OF_NOTHING = re.compile(rb"q *= *0(\.0*)?")


class Compressed:
    """ASGI middleware around the whole gateway, which compresses responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and scope["method"] in ("GET", "HEAD"):
            accepted = scope["method"] == "GET" and _accepts_gzip(scope)
            send = GzipSender(send, accepted=accepted).send
        await self._app(scope, receive, send)


class GzipSender:
    """Sends one response. It is compressed if ``accepted`` is True and if compression saves bytes."""

    def __init__(self, send: Send, *, accepted: bool) -> None:
        self._send, self._accepted = send, accepted
        self._start: HTTPResponseStartEvent | None = None
        self._stream: zlib._Compress | None = None

    async def send(self, message: Message) -> None:
        """Send a message.

        The headers of a compressed response depend on the first part of the body. So they are sent together
        with this part.
        """
        if message["type"] == "http.response.start" and _is_plain_text(message):
            message["headers"] = [*message["headers"], (b"vary", b"Accept-Encoding")]
            if self._accepted and _length(message["headers"]) >= LEAST_BYTES:
                self._start = message
                return
        if message["type"] == "http.response.body":
            if self._start is not None:
                start, self._start = self._start, None
                self._stream = await self._begin(start, message)
                return
            if self._stream is not None:
                await self._go_on(self._stream, message)
                return
        await self._send(message)

    async def _begin(self, start: HTTPResponseStartEvent, message: HTTPResponseBodyEvent) -> "zlib._Compress":
        stream = zlib.compressobj(LEVEL, wbits=GZIP)
        headers = [header for header in start["headers"] if header[0].lower() != b"content-length"]
        headers.append((b"content-encoding", b"gzip"))
        start["headers"] = headers
        body = message.get("body", b"")
        if message.get("more_body", False) or len(body) > PIECE:
            await self._send(start)
            await self._go_on(stream, message)
        else:
            packed = stream.compress(body) + stream.flush()
            headers.append((b"content-length", str(len(packed)).encode()))
            await self._send(start)
            await self._send({**message, "body": packed})
        return stream

    async def _go_on(self, stream: "zlib._Compress", message: HTTPResponseBodyEvent) -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        for begin in range(0, len(body), PIECE):
            if packed := stream.compress(body[begin : begin + PIECE]):
                await self._send({**message, "body": packed, "more_body": True})
            await asyncio.sleep(0)
        if not more:
            await self._send({**message, "body": stream.flush()})


def _accepts_gzip(scope: HTTPScope) -> bool:
    accepted = False
    for name, value in scope["headers"]:
        if name == b"accept-encoding":
            accepted = accepted or takes_gzip(value)
        elif name == b"sec-fetch-site" and value not in (b"same-origin", b"none"):
            return False
    return accepted


def takes_gzip(accept_encoding: bytes) -> bool:
    """True if a header ``Accept-Encoding`` names gzip with a weight above 0."""
    for part in accept_encoding.lower().split(b","):
        coding, _, weight = part.partition(b";")
        if coding.strip() == b"gzip" and not _WEIGHT_OF_NOTHING.fullmatch(weight.strip()):
            return True
    return False


def _is_plain_text(start: HTTPResponseStartEvent) -> bool:
    """True if a response has status 200, a type in ``COMPRESSED``, and no encoding, entity tag or range."""
    if start["status"] != 200:
        return False
    headers = {name.lower(): value for name, value in start["headers"]}
    untouched = not headers.keys() & {b"content-encoding", b"etag", b"content-range", b"accept-ranges"}
    return untouched and headers.get(b"content-type", b"").startswith(COMPRESSED)


def _length(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the length of the response in bytes; ``LEAST_BYTES`` if it is unknown."""
    return next((int(value) for name, value in headers if name.lower() == b"content-length"), LEAST_BYTES)
