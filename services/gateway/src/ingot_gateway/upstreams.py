"""The services behind the door: over a socket, or in the same process. Both stream, neither stores."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote_from_bytes

import aiohttp
from yarl import URL

from ingot_chassis.errors import BadGateway
from ingot_gateway.admission import Headers
from ingot_gateway.exchange import ClientGone, Exchange

PAUSE = 0.05
URL_SAFE = "!#$%&'()*+,/:;=?@[]~"
UNSENT = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")
LONGEST_HEADER = 65_536


class Forwarded(NamedTuple):
    """A request as it goes to a service. ``path`` is decoded, ``raw_path`` as it was sent."""

    method: str
    path: str
    raw_path: bytes
    query: bytes
    headers: Headers
    has_body: bool
    client: tuple[str, int]


class Upstream(Protocol):
    """One service. ``forward`` answers through the exchange; raises BadGateway if the service cannot."""

    async def forward(self, request: Forwarded, exchange: Exchange) -> None: ...

    async def close(self) -> None: ...


class HttpUpstream:
    """A service at ``url``. One that refuses connections, as it starts again, is tried for ``patience`` seconds."""

    def __init__(self, url: str, *, patience: float = 1.0) -> None:
        self._base, self._patience = url.rstrip("/"), patience
        self._session: aiohttp.ClientSession | None = None

    async def forward(self, request: Forwarded, exchange: Exchange) -> None:
        exchange.watches_client = True
        try:
            response = await self._response(request, exchange)
        except (aiohttp.ClientError, OSError) as error:
            raise BadGateway(f"the service broke off: {type(error).__name__}") from error
        try:
            await exchange.send(
                {
                    "type": "http.response.start",
                    "status": response.status,
                    "headers": list(response.raw_headers),
                }
            )
            await _pass_body(response.content, exchange)
        except (aiohttp.ClientError, OSError) as error:
            raise BadGateway(f"the service broke off: {type(error).__name__}") from error
        finally:
            # A connection on which a body is still being sent, or an answer still arriving, serves nobody else.
            if not (response.content.at_eof() and exchange.body_is_read):
                response.close()

    async def _response(self, request: Forwarded, exchange: Exchange) -> aiohttp.ClientResponse:
        session = self._session or self._open()
        url = URL(self._base + _target(request), encoded=True)
        headers = [(name.decode(), _text(value)) for name, value in request.headers]
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._patience
        while True:
            try:
                return await session.request(
                    request.method,
                    url,
                    headers=headers,
                    data=_body(exchange) if request.has_body else None,
                    allow_redirects=False,
                )
            except aiohttp.ClientConnectorError:
                # Not connected: nothing of the request is gone, whatever its method.
                if loop.time() + PAUSE > give_up:
                    raise
                await asyncio.sleep(PAUSE)

    def _open(self) -> aiohttp.ClientSession:
        # A pooled connection that turns out to be stale is replaced by aiohttp itself, for idempotent methods.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=2),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=UNSENT,
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
        )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _pass_body(content: aiohttp.StreamReader, exchange: Exchange) -> None:
    more = True
    while more:
        part = await content.readany()
        more = not content.at_eof()
        await exchange.send({"type": "http.response.body", "body": part, "more_body": more})


async def _body(exchange: Exchange) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await exchange.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if message["type"] == "http.request":
            more = message["more_body"]
            if message["body"]:
                yield message["body"]


def _target(request: Forwarded) -> str:
    raw = request.raw_path
    if request.query:
        raw += b"?" + request.query
    return raw.decode() if raw.isascii() else quote_from_bytes(raw, safe=URL_SAFE)


def _text(value: bytes) -> str:
    """``value`` so that the client library, which writes UTF-8, sends the same bytes if they are UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


class AsgiUpstream:
    """A service in this process, with all of HTTP but the socket."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def forward(self, request: Forwarded, exchange: Exchange) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": request.path,
            "raw_path": request.raw_path,
            "query_string": request.query,
            "root_path": "",
            "headers": request.headers,
            "client": request.client,
            "server": ("in-process", 0),
            "state": {},
        }
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as error:
            raise BadGateway(f"the service broke off: {type(error).__name__}") from error
        if not exchange.started:
            raise BadGateway("the service gave no answer")

    async def close(self) -> None:
        """Nothing is held open; whoever made the app ends it."""
