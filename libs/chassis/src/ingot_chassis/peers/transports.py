"""Transports of a call to a peer: over a socket, or into its app in the same process."""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import unquote

import msgspec

from ingot_chassis.peers.asgi import AsgiApp, http_scope
from ingot_wire.client import Origin


class PeerAnswer(msgspec.Struct, frozen=True):
    """A complete response of a peer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Carries one call. Raises ConnectionError, or TimeoutError after ``timeout`` seconds."""

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer: ...

    async def close(self) -> None: ...


class HttpTransport:
    """Sends calls over a socket."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer:
        raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        async with (
            asyncio.timeout(timeout),
            await self._origin.request(method, path.encode(), raw_headers, body) as answer,
        ):
            named = {name.decode().lower(): value.decode("latin-1") for name, value in answer.headers}
            return PeerAnswer(answer.status, named, await answer.read())

    async def close(self) -> None:
        await self._origin.close()


class AsgiTransport:
    """Calls an app in the same process, with all of HTTP except the socket."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer:
        raw_path, _, query = path.partition("?")
        scope = http_scope(
            method,
            path=unquote(raw_path),
            raw_path=raw_path.encode(),
            query=query.encode(),
            headers=[
                *((name.lower().encode(), value.encode()) for name, value in headers.items()),
                (b"content-length", str(len(body)).encode()),
            ],
        )
        received = asyncio.Queue[dict[str, Any]]()
        received.put_nowait({"type": "http.request", "body": body, "more_body": False})
        status, answer_headers, chunks = 500, {}, []

        async def send(message: dict[str, Any]) -> None:
            nonlocal status, answer_headers
            if message["type"] == "http.response.start":
                status = message["status"]
                answer_headers = {k.decode(): v.decode() for k, v in message.get("headers", [])}
            elif message["type"] == "http.response.body":
                chunks.append(message.get("body", b""))

        async with asyncio.timeout(timeout):
            await self._app(scope, received.get, send)
        return PeerAnswer(status, answer_headers, b"".join(chunks))

    async def close(self) -> None:
        """Do nothing, because no connection is open."""
