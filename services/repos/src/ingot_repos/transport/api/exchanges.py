"""A request of a git client and its response. Raw ASGI is used, because both are streamed in parallel."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from litestar import Response
from litestar.types import Receive, Scope, Send

from ingot_git.process.errors import ClientDisconnected
from ingot_git.process.spools import FilePart, Part
from ingot_git.protocol.smart_http import inflate
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.placement.api.forwarding import forward_push
from ingot_wire.zero_copy import EXTENSION

NEVER_CACHED = ((b"cache-control", b"no-cache, max-age=0, must-revalidate"), (b"pragma", b"no-cache"))


MAX_INFLATED = 64 * 1024 * 1024


class Exchange:
    """A request of a git client and its response, as the `Conversation` of pushes and fetches.

    Over SSH it is a whole session, in which git sends first.
    """

    def __init__(
        self, request: RepositoryRequest, receive: Receive, send: Send, *, is_session: bool = False
    ) -> None:
        self.request, self.is_session = request, is_session
        self._receive, self._send = receive, send
        self.body_ended = asyncio.Event()
        self.is_started = self._is_disconnected = False
        self.received = 0
        """Bytes of the body."""

    @property
    def protocol(self) -> str | None:
        return self.request.headers.get("git-protocol")

    @property
    def takes_files(self) -> bool:
        """True if the server can send bytes of a file without reading them."""
        return EXTENSION in (self.request.scope.get("extensions") or {})

    def body(self) -> AsyncIterator[bytes]:
        """Yield the request body as it arrives, inflated. Raises ClientDisconnected, BodyRefused."""
        is_gzip = self.request.headers.get("content-encoding", "").lower() in ("gzip", "x-gzip")
        return inflate(self._chunks(), MAX_INFLATED) if is_gzip else self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                self._is_disconnected = True
                self.body_ended.set()
                raise ClientDisconnected("the client disconnected")
            is_last = not message.get("more_body")
            if is_last:  # set before the chunk is used: a client that disconnects during that work is noticed
                self.body_ended.set()
            if message["body"]:
                self.received += len(message["body"])
                yield message["body"]
            if is_last:
                return

    async def disconnected(self) -> None:
        """Wait until the client disconnects.

        A disconnect is noticed only while the request is read, or after its end.
        """
        await self.body_ended.wait()
        while not self._is_disconnected and (await self._receive())["type"] != "http.disconnect":
            continue

    async def start(self, media_type: str) -> None:
        """Send the head of the response, unless it was sent."""
        if self.is_started:
            return
        self.is_started = True
        headers = [(b"content-type", media_type.encode()), *NEVER_CACHED]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(self, part: Part, *, more: bool = True) -> None:
        """Send a part of the response. A part of a file is never the last one."""
        message: Any = {"type": "http.response.body", "body": part, "more_body": more}
        if isinstance(part, FilePart):
            message = {"type": EXTENSION, "more_body": True} | msgspec.structs.asdict(part)
        await self._send(message)

    async def hand_over(self, shard: str, body: AsyncIterator[bytes]) -> None:
        """Forward the request to another shard. ``body`` starts at the beginning of the request."""
        await forward_push(self.request, shard, body, self._send)


class GitAnswer(Response[None]):
    """A response that ``respond`` writes instead of the framework."""

    def __init__(
        self,
        respond: Callable[[Exchange], Awaitable[None]],
        request: RepositoryRequest,
        *,
        is_session: bool = False,
    ) -> None:
        super().__init__(None)
        self._respond, self._request, self._is_session = respond, request, is_session

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        async def app(_scope: Scope, receive: Receive, send: Send) -> None:
            await self._respond(Exchange(self._request, receive, send, is_session=self._is_session))

        return app
