"""A connection to NATS that breaks off: what was not stored, or did not arrive, comes again in its order."""

import asyncio
import signal
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import pytest
import uvloop

from ingot_chassis.db.database import Database
from ingot_chassis.events import consumers
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.relay import Relay
from ingot_chassis.jobs.loops import running
from ingot_testing.wires import wire

from .messaging_world import Counted, metadata
from .test_consumers import emit

LAST = 100
PUBLISH = b"PUB ingot."
EVENT = b"MSG ingot.counter."
"""A message of nats-server to a consumer, with headers or without."""


@asynccontextmanager
async def wire_that_breaks(url):
    """Yield a URL that leads to ``url``.

    After ``broken`` is set it accepts five messages, forwards none, and disconnects, once.
    """
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
    """Yield a URL that leads to ``url``.

    After ``losing`` is set, the next events from there are ``lost``, and so is the connection.
    """
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


async def publish_until_nothing_is_taken(bus):
    """To a NATS that is halted. The last one waits, since more is to be sent than the client holds back."""
    turns_until_sent = 10
    js = await bus.connect()
    while True:
        publication = asyncio.create_task(js.publish_async("ingot.counter.x", bytes(900_000)))
        for _ in range(turns_until_sent):
            await asyncio.sleep(0)
        if not publication.done():
            return


@pytest.mark.parametrize("end", ["kill", "close"])
def test_nats_that_ends_before_it_has_taken_everything_makes_no_trouble(own_nats, caplog, end):
    """No caller waits for ever, and uvloop reports no error for data written to a lost connection."""

    async def end_of_everything():
        bus = Bus(own_nats.url, name="counter")
        await bus.ensure_stream("counter")
        own_nats.send_signal(signal.SIGSTOP)
        await publish_until_nothing_is_taken(bus)
        if end == "kill":
            own_nats.kill()  # while the loop does nothing: what the client holds back stays there
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        async with asyncio.timeout(60):
            if end == "close":
                await bus.close()
                for task in rest:
                    task.cancel()
            return await asyncio.gather(*rest, return_exceptions=True)

    outcomes = uvloop.run(end_of_everything())
    own_nats.send_signal(signal.SIGCONT)
    assert [each for each in outcomes if isinstance(each, Exception)] == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
