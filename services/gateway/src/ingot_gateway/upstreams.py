"""The services behind the door: over a socket, or in the same process. Both stream, neither stores."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Protocol

from ingot_chassis.errors import BadGateway
from ingot_chassis.hop import Origin, target
from ingot_gateway.admission import Headers
from ingot_gateway.exchange import ClientGone, Exchange


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
        self._origin = Origin(url, patience=patience)

    async def forward(self, request: Forwarded, exchange: Exchange) -> None:
        exchange.watches_client = True
        body = _body(exchange) if request.has_body else b""
        try:
            sent_to = target(request.raw_path, request.query)
            answer = await self._origin.request(request.method, sent_to, request.headers, body)
            async with answer:
                await exchange.send(
                    {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
                )
                more = True
                while more:
                    part, more = await answer.part()
                    await exchange.send({"type": "http.response.body", "body": part, "more_body": more})
        except OSError as error:
            raise BadGateway(f"the service broke off: {type(error).__name__}") from error

    async def close(self) -> None:
        await self._origin.close()


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
