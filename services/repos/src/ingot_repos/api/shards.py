"""Handing a request on to the shard whose disk holds the repository. Access was decided here, and is again there."""

from collections.abc import AsyncIterator
from typing import Any

from litestar import Request, Response
from litestar.types import Receive, Scope, Send
from litestar.utils.scope.state import ScopeState

from ingot_chassis.errors import ApiError, Unavailable
from ingot_chassis.hop import Body, Origin, target
from ingot_repos.api.call import HANDED_ON, Call, Elsewhere

OF_THE_CONNECTION = frozenset(
    (
        b"host",
        b"connection",
        b"keep-alive",
        b"transfer-encoding",
        b"te",
        b"upgrade",
        b"expect",
        b"trailer",
        HANDED_ON,
    )
)
NOT_PASSED = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"x-request-id"))
PATIENCE = 5.0
"""Seconds for which a shard that starts again is waited for."""


class Shards:
    """The other shards, by name."""

    def __init__(self, urls: dict[str, str]) -> None:
        self._origins = {name: Origin(url, patience=PATIENCE) for name, url in urls.items()}

    def origin(self, name: str) -> Origin:
        """Raises Unavailable for one that is not in the settings."""
        if name not in self._origins:
            raise Unavailable("the repository lies on a shard that is not known here")
        return self._origins[name]

    async def close(self) -> None:
        for origin in self._origins.values():
            await origin.close()


class HandedOn(Response[None]):
    """The answer of another shard, streamed as it comes."""

    def __init__(self, request: Call, origin: Origin) -> None:
        super().__init__(None)
        self._request, self._origin = request, origin

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        return self._speak

    async def _speak(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in OF_THE_CONNECTION]
        headers.append((HANDED_ON.encode(), self._request.settings.shard.encode()))
        sent_to = target(scope["raw_path"], scope["query_string"])
        try:
            asked = await self._origin.request(scope["method"], sent_to, headers, _body(scope, receive))
        except OSError:
            render = self._request.app.exception_handlers[ApiError]
            told: Any = render(self._request, Unavailable("the shard of the repository does not answer"))
            await told.to_asgi_response(None, self._request)(scope, receive, send)
            return
        async with asked as answer:
            kept = [(name, value) for name, value in answer.headers if name.lower() not in NOT_PASSED]
            await send({"type": "http.response.start", "status": answer.status, "headers": kept})
            more = True
            while more:
                part, more = await answer.part()
                await send({"type": "http.response.body", "body": part, "more_body": more})


def hand_on(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The exception handler for Elsewhere."""
    assert isinstance(request, Call)  # noqa: S101 - the request class of the app
    assert isinstance(error, Elsewhere)  # noqa: S101 - what it is registered for
    return HandedOn(request, error.origin)


def _body(scope: Scope, receive: Receive) -> Body:
    """What was read of it already, else as it comes."""
    read = ScopeState.from_scope(scope).body
    if isinstance(read, bytes):
        return b"" if not read else _once(read)
    if not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"]):
        return b""
    return _stream(receive)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _stream(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client went away")
        more = message["more_body"]
        if message["body"]:
            yield message["body"]
