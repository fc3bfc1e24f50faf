"""A connection to NATS that breaks off: what was not stored, or did not arrive, comes again in its order."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import pytest

from ingot_chassis.db.database import Database
from ingot_chassis.events import consumers
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.relay import Relay
from ingot_chassis.jobs.loops import running
from ingot_chassis.testing.wires import wire

from .messaging_world import Counted, metadata
from .test_consumers import emit

LAST = 100
PUBLISH = b"PUB ingot."
EVENT = b"MSG ingot.counter."
"""How nats-server hands one to a consumer, with headers or without."""


@asynccontextmanager
async def wire_that_breaks(url):
    """A URL that leads to ``url``. After ``broken`` is set it takes five messages, passes none on, and breaks off, once."""
    broken, lost = asyncio.Event(), 0

    async def up(part):
        nonlocal lost
        if not broken.is_set() or PUBLISH not in part:
            return part
        lost += part.count(PUBLISH)
        if lost < 5:
            return b""  # the kernel of the machine that dies has it, NATS never gets it
        broken.clear()
        return None

    parts = urlsplit(url)
    async with wire(parts.hostname, parts.port, up=up) as port:
        yield f"nats://127.0.0.1:{port}", broken


@pytest.mark.parametrize("size", [10, 30_000])
async def test_a_batch_that_breaks_off_arrives_in_its_order(make_url, own_nats, size):
    heard = asyncio.Queue()

    async def hear(tx, happened, _envelope):
        tx.on_commit(lambda: heard.put_nowait(happened.number))

    async with AsyncExitStack() as stack:
        url, broken = await stack.enter_async_context(wire_that_breaks(own_nats.url))
        writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
        to_nats, from_nats = Bus(url, name="counter"), Bus(own_nats.url, name="reader")
        for each in (writer, reader, to_nats, from_nats):
            stack.push_async_callback(each.close)
        relay = Relay("counter", writer, to_nats)
        loops = Consumers("reader", reader, from_nats, {Counted: hear}).loops()
        await stack.enter_async_context(running(loops))
        await emit(writer, "a", 0)
        await relay.step()
        assert await heard.get() == 0

        async with writer.transaction() as tx:
            for number in range(1, LAST + 1):
                tx.emit(Counted(name="x" * size, number=number), key="k")
        broken.set()
        async with running([("relay", relay.run)]), asyncio.timeout(60):
            assert [await heard.get() for _ in range(LAST)] == list(range(1, LAST + 1))


@asynccontextmanager
async def wire_that_loses_what_comes(url):
    """A URL that leads to ``url``. After ``losing`` is set, the next events from there are ``lost``, with the connection."""
    losing, lost = asyncio.Event(), asyncio.Event()

    async def down(part):
        if not losing.is_set() or EVENT not in part:
            return part
        losing.clear()
        lost.set()
        return None

    parts = urlsplit(url)
    async with wire(parts.hostname, parts.port, down=down) as port:
        yield f"nats://127.0.0.1:{port}", losing, lost


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_was_lost_on_the_way_to_a_consumer_comes_before_what_is_newer(
    make_url, own_nats, monkeypatch
):
    monkeypatch.setattr(
        consumers, "FETCH_SECONDS", 0.2
    )  # far below the time after which an event comes again
    heard = asyncio.Queue()

    async def hear(tx, happened, _envelope):
        tx.on_commit(lambda: heard.put_nowait(happened.number))

    async with AsyncExitStack() as stack:
        url, losing, lost = await stack.enter_async_context(wire_that_loses_what_comes(own_nats.url))
        writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
        to_nats, from_nats = Bus(own_nats.url, name="counter"), Bus(url, name="reader", ack_wait=1)
        for each in (writer, reader, to_nats, from_nats):
            stack.push_async_callback(each.close)
        relay = Relay("counter", writer, to_nats)
        loops = Consumers("reader", reader, from_nats, {Counted: hear}).loops()
        await stack.enter_async_context(running(loops))
        for number in (1, 2):
            await emit(writer, "a", number)
            await relay.step()
            assert await heard.get() == number
        losing.set()
        await emit(writer, "a", 3, 4)
        await relay.step()
        async with asyncio.timeout(60):
            await lost.wait()
            await emit(writer, "a", 5, 6)
            await relay.step()
            assert [await heard.get() for _ in range(4)] == [3, 4, 5, 6]
