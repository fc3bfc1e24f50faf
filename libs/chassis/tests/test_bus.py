"""A connection to NATS that breaks off: what was not stored is sent again by who sent it, in its order."""

import asyncio
import contextlib
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import pytest

from ingot_chassis.db.database import Database
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.relay import Relay
from ingot_chassis.jobs.loops import running

from .messaging_world import Counted, metadata
from .test_consumers import emit

LAST = 100
PUBLISH = b"PUB ingot."


@asynccontextmanager
async def wire_that_breaks(port):
    """A port that leads to ``port``. After ``broken`` is set it takes five messages, passes none on, and breaks off, once."""
    broken, lost = asyncio.Event(), 0

    async def forward(reader, writer, *, is_up):
        nonlocal lost
        with contextlib.suppress(OSError):
            while part := await reader.read(4096):
                if is_up and broken.is_set() and PUBLISH in part:
                    lost += part.count(PUBLISH)
                    if lost >= 5:
                        broken.clear()
                        break
                    continue  # the kernel of the machine that dies has it, NATS never gets it
                writer.write(part)
                await writer.drain()
        writer.transport.abort()

    async def connected(reader, writer):
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(
            forward(reader, server_writer, is_up=True), forward(server_reader, writer, is_up=False)
        )

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}", broken


@pytest.mark.parametrize("size", [10, 30_000])
async def test_a_batch_that_breaks_off_arrives_in_its_order(make_url, own_nats, size):
    heard = asyncio.Queue()

    async def hear(tx, happened, _envelope):
        tx.on_commit(lambda: heard.put_nowait(happened.number))

    async with AsyncExitStack() as stack:
        url, broken = await stack.enter_async_context(wire_that_breaks(urlsplit(own_nats.url).port))
        writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
        to_nats, from_nats = Bus(url, name="counter"), Bus(own_nats.url, name="reader")
        for each in (writer, reader, to_nats, from_nats):
            stack.push_async_callback(each.close)
        relay = Relay("counter", writer, to_nats)
        consumers = Consumers("reader", reader, from_nats, {Counted: hear})
        await stack.enter_async_context(running(consumers.loops()))
        await emit(writer, "a", 0)
        await relay.step()
        assert await heard.get() == 0

        async with writer.transaction() as tx:
            for number in range(1, LAST + 1):
                tx.emit(Counted(name="x" * size, number=number), key="k")
        broken.set()
        async with running([("relay", relay.run)]), asyncio.timeout(60):
            assert [await heard.get() for _ in range(LAST)] == list(range(1, LAST + 1))
