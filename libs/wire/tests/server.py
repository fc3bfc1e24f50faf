"""A server on a real port with the protocol under test, and raw exchanges with it."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from ingot_wire.server_protocol import DrainState, server_protocol

LOOPBACK = "127.0.0.1"


def error_body(message: str) -> bytes:
    """The body of an error."""
    return json.dumps({"message": message}).encode()


@asynccontextmanager
async def serve(app: Any, **bounds: Any) -> AsyncIterator[int]:
    """The port of ``app`` behind the protocol."""
    config = uvicorn.Config(
        app, interface="asgi3", http=server_protocol(error_body, **bounds), ws="none", log_config=None
    )
    config.load()
    state = DrainState()
    server = await asyncio.get_running_loop().create_server(
        lambda: config.http_protocol_class(config=config, server_state=state, app_state={}), LOOPBACK, 0
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


async def exchanged(port: int, *sent: bytes, then: bytes = b"") -> bytes:
    """All that comes back for ``sent``, piece by piece, and then for ``then`` without end."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    answer = asyncio.create_task(reader.read())
    with contextlib.suppress(ConnectionError):
        for piece in sent:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        while then and not answer.done():
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(0)
    try:
        return await asyncio.wait_for(answer, 20)
    finally:
        writer.close()


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        return int(listener.getsockname()[1])
