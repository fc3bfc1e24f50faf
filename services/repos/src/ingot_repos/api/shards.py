"""Forwards a request to the shard that has the files of the repository. Access is decided here, and there again."""

from collections.abc import AsyncIterator
from typing import Any

from litestar import Request, Response
from litestar.types import Receive, Scope, Send
from litestar.utils.scope.state import ScopeState

from ingot_chassis.errors import ApiError, Unavailable
from ingot_chassis.peers.http_client import Body, Origin, target
from ingot_repos.api.request import RepositoryRequest

FORWARDED_BY = "ingot-shard"
"""The header that names the shard which forwarded a request; such a request is not forwarded again."""

CONNECTION_HEADERS = frozenset(
    (
        b"host",
        b"connection",
        b"keep-alive",
        b"transfer-encoding",
        b"te",
        b"upgrade",
        b"expect",
        b"trailer",
        FORWARDED_BY.encode(),
    )
)
DROPPED_HEADERS = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"x-request-id"))


class WrongShard(Exception):
    """Another shard has the files of the repository."""

    def __init__(self, origin: Origin) -> None:
        super().__init__("on another shard")
        self.origin = origin


class ForwardedResponse(Response[None]):
    """The answer of another shard, streamed as it comes."""

    def __init__(self, request: RepositoryRequest, origin: Origin) -> None:
        super().__init__(None)
        self._request, self._origin = request, origin

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        return self._respond

    async def _respond(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name not in CONNECTION_HEADERS]
        headers.append((FORWARDED_BY.encode(), self._request.settings.shard.encode()))
        path = target(scope["raw_path"], scope["query_string"])
        try:
            exchange = await self._origin.request(scope["method"], path, headers, _body(scope, receive))
        except OSError:
            render = self._request.app.exception_handlers[ApiError]
            response: Any = render(self._request, Unavailable("the shard of the repository does not answer"))
            await response.to_asgi_response(None, self._request)(scope, receive, send)
            return
        async with exchange as answer:
            passed = [(name, value) for name, value in answer.headers if name.lower() not in DROPPED_HEADERS]
            await send({"type": "http.response.start", "status": answer.status, "headers": passed})
            more = True
            while more:
                part, more = await answer.part()
                await send({"type": "http.response.body", "body": part, "more_body": more})


def forward_to_shard(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The exception handler for WrongShard."""
    assert isinstance(request, RepositoryRequest)  # noqa: S101 - the request class of the app
    assert isinstance(error, WrongShard)  # noqa: S101 - what it is registered for
    return ForwardedResponse(request, error.origin)


def _body(scope: Scope, receive: Receive) -> Body:
    """The body that was read already, else as it comes."""
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
