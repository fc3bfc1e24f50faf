"""A round-robin load balancer, as a cluster has one: each request goes to the next replica.

``python balancer.py 8000=http://127.0.0.1:8001/,http://127.0.0.1:8002/ …``. It skips replicas that are down.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from ingot_wire.client import NotConnected, Origin, Response
from ingot_wire.framing import FRAMING_HEADERS

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
OF_THIS_CONNECTION = (b"host", b"connection", b"keep-alive", b"transfer-encoding", b"expect")


class RoundRobin:
    """An ASGI app in front of ``urls``; each is waited for so many seconds."""

    def __init__(self, urls: list[str], *, patience: float = 0) -> None:
        self._turn, self._patience = count(), patience
        self.send_to(urls)

    def send_to(self, urls: list[str]) -> None:
        """From here on; what runs goes on where it is."""
        self._origins = [Origin(url, patience=self._patience) for url in urls]

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        try:
            answer = await self._call(scope, receive)
        except ConnectionError:
            await send({"type": "http.response.start", "status": 502, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        async with answer:
            headers = [
                h for h in answer.headers if h[0].lower() not in (*OF_THIS_CONNECTION, b"date", b"server")
            ]
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            more = True
            while more:
                part, more = await answer.read_part()
                await send({"type": "http.response.body", "body": part, "more_body": more})

    async def _call(self, scope: dict[str, Any], receive: Receive) -> Response:
        headers = [header for header in scope["headers"] if header[0] not in FRAMING_HEADERS]
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        names = {name for name, _ in scope["headers"]}
        has_body = b"transfer-encoding" in names or b"content-length" in names
        first = next(self._turn)
        for turn in range(first, first + len(self._origins)):
            origin = self._origins[turn % len(self._origins)]
            try:
                return await origin.request(
                    scope["method"], target, headers, _body(receive) if has_body else b""
                )
            except NotConnected:
                continue
        raise ConnectionError("no replica is there")


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client left")
        more = message["more_body"]
        if message["body"]:
            yield message["body"]


async def listen(app: RoundRobin, port: int) -> asyncio.Server:
    """Listen on ``port``. An unused connection stays open as long as that of a service, as clients expect."""
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http="httptools",
        ws="none",
        log_config=None,
        server_header=False,
        timeout_keep_alive=75,
    )
    config.load()
    state = ServerState()
    return await asyncio.get_running_loop().create_server(
        lambda: config.http_protocol_class(config=config, server_state=state, app_state={}), "127.0.0.1", port
    )


async def balance(arguments: list[str]) -> None:
    entries = (argument.partition("=") for argument in arguments)
    servers = [await listen(RoundRobin(urls.split(",")), int(port)) for port, _, urls in entries]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(balance(sys.argv[1:]))
