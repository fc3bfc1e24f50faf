"""Forwarding of requests to the shard that has the files of a repository.

Both shards check access.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.types import Receive, Scope, Send
from litestar.utils.scope.state import ScopeState

from ingot_chassis.errors import ApiError, Unavailable
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_git.protocol.push_requests import end_of_packets
from ingot_git.protocol.smart_http import pkt_line
from ingot_repos.catalog.store.states import ShardState
from ingot_repos.placement.clients import Shards
from ingot_repos.placement.rules.owners import OnAnotherShard
from ingot_repos.placement.store import shards
from ingot_repos.settings import Settings
from ingot_wire.client import NotConnected, target
from ingot_wire.client import Response as ShardResponse
from ingot_wire.client_connection import Body
from ingot_wire.framing import FRAMING_HEADERS

FORWARDED_BY = "ingot-shard"
"""The header with the names of the shards that forwarded a request."""

OWN_HEADERS = FRAMING_HEADERS | {FORWARDED_BY.encode()}
"""Headers that are not copied, because this shard sets its own values for the other shard."""
MAX_ERROR_CHARACTERS = 1000
"""Limit of characters of an error that git shows."""
MOST_FORWARDERS = 3
"""Limit of shards that forward one request. A repository may move while the request is forwarded."""
DROPPED_HEADERS = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"x-request-id"))


class ForwardedResponse(Response[None]):
    """A response that is streamed from another shard. ``body`` is the request body if it was partly read.

    Any of ``replicas`` may answer a read.
    """

    def __init__(
        self,
        request: DatabaseRequest,
        shard: str,
        body: Body | None = None,
        *,
        replicas: Sequence[str] = (),
    ) -> None:
        super().__init__(None)
        self._request, self._shard, self._body, self._replicas = request, shard, body, replicas

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        return self._respond

    async def _respond(self, scope: Any, receive: Receive, send: Send) -> None:
        try:
            exchange = await self._exchange(scope, receive)
        except (OSError, Unavailable) as error:
            render = self._request.app.exception_handlers[ApiError]
            if isinstance(error, OSError):
                error = Unavailable("the shard of the repository does not answer")
            response: Any = render(self._request, error)
            await response.to_asgi_response(None, self._request)(scope, receive, send)
            return
        async with exchange as answer:
            passed = [(name, value) for name, value in answer.headers if name.lower() not in DROPPED_HEADERS]
            await send({"type": "http.response.start", "status": answer.status, "headers": passed})
            more = True
            while more:
                part, more = await answer.read_part()
                await send({"type": "http.response.body", "body": part, "more_body": more})

    async def _exchange(self, scope: Any, receive: Receive) -> ShardResponse:
        """Send the request to the other shard. Raises OSError, Unavailable."""
        headers = [(name, value) for name, value in scope["headers"] if name not in OWN_HEADERS]
        forwarders = [name for name in self._request.headers.get(FORWARDED_BY, "").split(",") if name]
        if len(forwarders) >= MOST_FORWARDERS:
            raise Unavailable("the shards do not agree on where the repository is")
        headers.append(
            (FORWARDED_BY.encode(), ",".join([*forwarders, self._request.part(Settings).shard]).encode())
        )
        if self._body is not None:
            # the body was decoded
            headers = [header for header in headers if header[0] != b"content-encoding"]
        peers = self._request.part(Shards)
        *others, last = peers.in_order([self._shard, *self._replicas])

        async def ask(shard: str) -> ShardResponse:
            body = self._body if self._body is not None else _body(scope, receive)
            origin = await peers.origin(shard)
            return await origin.request(
                scope["method"], target(scope["raw_path"], scope["query_string"]), headers, body
            )

        for shard in others:
            try:
                return await ask(shard)
            except (NotConnected, Unavailable):
                peers.note_unreachable(shard)
        return await ask(last)


async def forward_push(request: DatabaseRequest, shard: str, body: AsyncIterator[bytes], send: Send) -> None:
    """Forward a push to another shard. ``body`` starts at the beginning of the request.

    In an SSH session, the refs that the client has already received are omitted.
    """
    is_session = request.scope["path"].startswith("/internal/ssh/")
    forwarded = ForwardedResponse(request, shard, body).to_asgi_response()
    await forwarded(request.scope, request.receive, after_flush(send) if is_session else send)


def after_flush(send: Send) -> Send:
    """Wrap ``send`` to drop the response head, and the packets with the refs up to the first flush.

    An error is sent as an error packet of git.
    """
    is_head, is_error, pending = True, False, bytearray()

    async def send_rest(message: Any) -> None:
        nonlocal is_head, is_error
        if message["type"] != "http.response.body":
            is_error = message.get("status", 200) != 200
            return
        body, is_last = message.get("body", b""), not message.get("more_body", False)
        if is_error:
            pending.extend(body)
            body = _error_packet(bytes(pending)) if is_last else b""
        elif is_head:
            pending.extend(body)
            end = end_of_packets(pending)
            is_head = end is None
            body = bytes(pending[end:]) if end is not None else b""
        if body or is_last:
            message["body"] = body
            await send(message)

    return send_rest


def _error_packet(answer: bytes) -> bytes:
    """Return an API error as an error packet of git (gitprotocol-pack(5))."""
    try:
        message = str(msgspec.json.decode(answer, type=dict[str, Any])["message"])
    except (msgspec.MsgspecError, KeyError):
        message = "the push was refused"
    return pkt_line(f"ERR {message[:MAX_ERROR_CHARACTERS]}".encode())


async def require_accepting(request: DatabaseRequest, owner_id: int) -> None:
    """Raise OnAnotherShard if this shard accepts no new repositories but another one does."""
    async with request.db.read() as db:
        added = await shards.list_added(db)
    own = added.get(request.part(Settings).shard)
    if own is None or own.state == ShardState.ACTIVE:
        return
    others = sorted(
        name
        for name in {*added, *request.part(Shards).names} - {own.name}
        if name not in added or added[name].state == ShardState.ACTIVE
    )
    if others:
        raise OnAnotherShard(others[owner_id % len(others)])


def forward_to_shard(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Handle OnAnotherShard by forwarding the request."""
    assert isinstance(request, DatabaseRequest)  # noqa: S101 - the request class of the app
    assert isinstance(error, OnAnotherShard)  # noqa: S101 - what it is registered for
    return ForwardedResponse(request, error.shard, replicas=error.replicas)


def _body(scope: Scope, receive: Receive) -> Body:
    """Return the body that was already read, or a stream of the request body."""
    read = ScopeState.from_scope(scope).body
    if isinstance(read, bytes):
        return read
    if not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"]):
        return b""
    return _stream(receive)


async def _stream(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client disconnected")
        more = message["more_body"]
        if message["body"]:
            yield message["body"]
