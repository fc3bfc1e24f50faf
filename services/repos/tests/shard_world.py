"""Two processes of repos on one database, each with a disk of its own."""

import asyncio
import socket
from contextlib import asynccontextmanager

import uvicorn

from .world import World


@asynccontextmanager
async def serve_on(world, listener):
    server = uvicorn.Server(
        uvicorn.Config(world.app, interface="asgi3", lifespan="off", ws="none", log_config=None)
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    await world.components.questions.open()
    yield
    await world.components.questions.close()
    server.should_exit = True
    await serving


@asynccontextmanager
async def two_shards(database, folder, **settings):
    """Worlds `a` and `b`, and their URLs; only their disks differ."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    urls = [f"http://127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
    a = World(database, folder / "a", shard="a", shards={"b": urls[1]}, **settings)
    b = World(database, folder / "b", shard="b", shards={"a": urls[0]}, identity=a.identity, **settings)
    async with serve_on(a, listeners[0]), serve_on(b, listeners[1]):
        yield a, b, urls
    for world in (a, b):
        await world.components.shards.close()
        await world.close()
    for listener in listeners:
        listener.close()
