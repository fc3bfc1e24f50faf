"""A proxy between a client and a server. A test can change or stop its data."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

PART = 65_536
Take = Callable[[bytes], Awaitable[bytes | None]]
"""A function that takes received bytes and returns the bytes to forward. None breaks the connection."""


async def pass_on(part: bytes) -> bytes | None:
    return part


@contextlib.asynccontextmanager
async def wire(
    host: str, port: int, *, up: Take = pass_on, down: Take = pass_on, receive_buffer: int | None = None
) -> AsyncIterator[int]:
    """Open a local port that forwards to a server. When one side ends, both end.

    Args:
        host: host of the server.
        port: port of the server.
        up: function for bytes from the client.
        down: function for bytes from the server.
        receive_buffer: bytes from the server that the system buffers here; None: the default.
    """

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, take: Take) -> None:
        while (part := await reader.read(PART)) and (rest := await take(part)) is not None:
            writer.write(rest)
            await writer.drain()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            server_reader, server_writer = await asyncio.open_connection(
                sock=_connection(host, port, receive_buffer)
            )
            with contextlib.closing(server_writer):
                ways = [
                    asyncio.create_task(forward(reader, server_writer, up)),
                    asyncio.create_task(forward(server_reader, writer, down)),
                ]
                done, open_ways = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in open_ways:
                    way.cancel()
                for way in done:
                    way.result()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def _connection(host: str, port: int, receive_buffer: int | None) -> socket.socket:
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect((host, port))
    return connection
