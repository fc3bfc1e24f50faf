"""A wire between git and the server that something can be done to in the middle of an upload."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

CHUNK = 65_536


@asynccontextmanager
async def cut_after(url: str, uploaded: int, happens: Callable[[], Awaitable[None]]) -> AsyncIterator[str]:
    """A URL that leads to ``url``; once ``uploaded`` bytes went through, ``happens`` is awaited, then nothing passes."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    passed = 0
    cut = asyncio.Event()

    async def up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal passed
        while not cut.is_set() and (part := await reader.read(CHUNK)):
            passed += len(part)
            writer.write(part)
            await writer.drain()
            if passed > uploaded and not cut.is_set():
                cut.set()
                await happens()

    async def down(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(CHUNK):
            writer.write(part)
            await writer.drain()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            server_reader, server_writer = await asyncio.open_connection(host, port)
            with contextlib.closing(server_writer):
                ways = [
                    asyncio.create_task(up(reader, server_writer)),
                    asyncio.create_task(down(server_reader, writer)),
                ]
                done, open_ways = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in open_ways:
                    way.cancel()
                for way in done:
                    way.result()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        assert cut.is_set(), f"only {passed} bytes were uploaded"
    finally:
        server.close()
