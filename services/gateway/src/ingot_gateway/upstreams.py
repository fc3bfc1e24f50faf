"""The services behind the gateway: over a socket, or in the same process. Bodies are streamed.

The gateway forwards no framing. It reads a short body first and sends it with a Content-Length. Other bodies
are sent in chunks, with the announced length in a separate header. So a service can reject a large body
early.
"""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Protocol

import structlog
from litestar import Litestar
from litestar.types import Receive, Scope, Send

from ingot_chassis.errors import Unavailable
from ingot_chassis.http.uploads import ANNOUNCED_LENGTH_HEADER
from ingot_chassis.peers.asgi import AsgiApp, http_scope
from ingot_gateway.errors import BadGateway
from ingot_gateway.route_limits import ClientDisconnected, ProxiedExchange
from ingot_wire.chunked_body import ChunkedBody
from ingot_wire.client import NotConnected, Origin, target
from ingot_wire.client_connection import Body
from ingot_wire.framing import Headers
from ingot_wire.response_cycle import SHORT_BODY as SHORT_BODY_OF_RESPONSE
from ingot_wire.zero_copy import EXTENSION, Pipes

log = structlog.get_logger()

_ANNOUNCED_LENGTH = ANNOUNCED_LENGTH_HEADER.encode()
SHORT_BODY = 65_536
"""The largest announced body, in bytes, that is read before the request is forwarded."""


class UpstreamRequest(NamedTuple):
    """A request for a service. ``path`` is decoded, ``raw_path`` is as the client sent it.

    ``headers`` contain no framing. ``length`` is the size of the body in bytes; None if it is unknown.
    """

    method: str
    path: str
    raw_path: bytes
    query: bytes
    headers: Headers
    length: int | None
    client: tuple[str, int]
    takes_pipes: bool = False
    """True if parts of the response may be in a pipe (`zero_copy.EXTENSION`)."""


class Upstream(Protocol):
    """A service behind the gateway. ``forward`` sends its response through the exchange.

    ``forward`` raises BadGateway if the service fails, and Unavailable if it cannot be reached.
    """

    async def forward(self, request: UpstreamRequest, exchange: ProxiedExchange) -> None: ...

    async def close(self) -> None: ...


class HttpUpstream:
    """A service that is reached over a socket. ``origin`` waits for a service that restarts."""

    def __init__(self, origin: Origin) -> None:
        self._origin, self._pipes = origin, Pipes()

    async def forward(self, request: UpstreamRequest, exchange: ProxiedExchange) -> None:
        exchange.watches_client = True
        body: Body = b""
        headers = request.headers
        if request.length is None or request.length > SHORT_BODY:
            body = _parts(exchange)
            if request.length is not None:
                headers = [*headers, (_ANNOUNCED_LENGTH, b"%d" % request.length)]
        elif request.length:
            body = b"".join([part async for part in _parts(exchange)])
        try:
            raw_target = target(request.raw_path, request.query)
            answer = await self._origin.request(
                request.method, raw_target, headers, body, in_chunks=request.takes_pipes
            )
            async with answer:
                part, more = b"", True
                if _has_short_body(answer.headers):
                    # The server keeps the head until the body begins. If it never does, the client gets 502.
                    part, more = await answer.read_part()
                await exchange.send(
                    {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
                )
                if answer.chunks is not None:
                    await _pass_on(answer.chunks, exchange, self._pipes)
                    return
                if part or not more:
                    await exchange.send({"type": "http.response.body", "body": part, "more_body": more})
                while more:
                    part, more = await answer.read_part()
                    await exchange.send({"type": "http.response.body", "body": part, "more_body": more})
        except OSError as error:
            log.warning("the service failed", path=request.path, error=repr(error))
            if isinstance(error, NotConnected):
                # No byte of the request was sent, so a retry does no harm.
                raise Unavailable("the service cannot be reached") from error
            raise BadGateway("the service broke off") from error

    async def close(self) -> None:
        await self._origin.close()


def _has_short_body(headers: Headers) -> bool:
    """True if the response has a Content-Length so short that the server sends its head with the body."""
    length = next((value for name, value in headers if name.lower() == b"content-length"), None)
    return length is not None and int(length) <= SHORT_BODY_OF_RESPONSE


async def _pass_on(chunks: ChunkedBody, exchange: ProxiedExchange, pipes: Pipes) -> None:
    """Send a body through pipes, without copying it into this process, except for its beginning.

    Raises ClientDisconnected if the client leaves before it has the whole body.
    """
    with pipes.pipe() as pipe:
        while not chunks.is_whole:
            part = await chunks.part(pipe)
            if isinstance(part, int):
                message: Any = {"type": EXTENSION, "file": pipe.reader, "count": part, "more_body": True}
            else:
                message = {"type": "http.response.body", "body": part, "more_body": not chunks.is_whole}
            await exchange.send(message)
            if isinstance(part, int) and pipe.unread():
                raise ClientDisconnected


async def _parts(exchange: ProxiedExchange) -> AsyncIterator[bytes]:
    """Yield the parts of the request body.

    Raises:
        ClientDisconnected: the client disconnects before the end of the body.
        TooLarge: the body exceeds its limit.
    """
    more = True
    while more:
        message = await exchange.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        if message["type"] == "http.request":
            more = message["more_body"]
            if message["body"]:
                yield message["body"]


class AsgiUpstream:
    """A service in this process. It gets complete HTTP requests, but not through a socket."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def forward(self, request: UpstreamRequest, exchange: ProxiedExchange) -> None:
        framing: Headers = []
        if request.length is None:
            framing.append((b"transfer-encoding", b"chunked"))
        elif request.length:
            framing.append((b"content-length", b"%d" % request.length))
        scope = http_scope(
            request.method,
            path=request.path,
            raw_path=request.raw_path,
            query=request.query,
            headers=[*request.headers, *framing],
            client=request.client,
        )
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as error:
            log.warning("the service failed", path=request.path, error=repr(error))
            raise BadGateway("the service broke off") from error
        if not exchange.started:
            raise BadGateway("the service sent no answer")

    async def close(self) -> None:
        """Do nothing, because the app belongs to the code that created it."""


class OwnRoutes:
    """The routes of the gateway at the creation of this object.

    Handlers that wrap the app later are not included.
    """

    def __init__(self, app: Litestar) -> None:
        self._app, self._handler = app, app.asgi_handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = scope["litestar_app"] = self._app  # as Litestar does for requests from outside
        scope.setdefault("state", {})
        await self._handler(scope, receive, send)
