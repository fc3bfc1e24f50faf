"""Events that a consumer gave up, and how they are applied after all."""

from contextlib import AsyncExitStack

import pytest
from sqlalchemy import select

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.relay import Relay
from ingot_chassis.events.replay import list_dead_lettered, replay
from ingot_chassis.jobs.loops import running

from .messaging_world import Counted, metadata, tally
from .test_consumers import Heard, emit


class Reader:
    """A reader that gives up at the first failure, after it heard 1 and 2 and could not apply 1."""

    def __init__(self, database, consumers, heard):
        self.database, self.consumers, self.heard = database, consumers, heard

    async def dead_lettered(self):
        inbox = metadata.tables["inbox"]
        async with self.database.read() as db:
            rows = await db.execute(select(inbox.c.error).where(inbox.c.error.is_not(None)))
            return [error for (error,) in rows]

    async def count(self):
        async with self.database.read() as db:
            return (await db.execute(select(tally.c.count))).scalar()


@pytest.fixture
async def reading(make_url, own_nats):
    async with AsyncExitStack() as opened:
        writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
        buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader", ack_wait=1)
        for thing in (writer, reader, *buses):
            opened.push_async_callback(thing.close)
        heard = Heard(1)
        consumers = Consumers("reader", reader, buses[1], {Counted: heard}, give_up=1)
        await emit(writer, "a", 1, 2)
        await Relay("counter", writer, buses[0]).step()
        async with running(consumers.loops()):
            assert await heard.next(1) == [2]
        yield Reader(reader, consumers, heard)


async def test_an_event_that_is_given_up_is_dead_lettered_and_lets_its_key_go_on(reading):
    assert await reading.dead_lettered() == ["RuntimeError('not now')"]
    assert await reading.count() == 1
    [event] = await list_dead_lettered(reading.database, 10)
    assert (event.key, event.error, event.size) == ("k", "RuntimeError('not now')", 0)
    outbox = metadata.tables["outbox"]
    row = {
        "id": "9",
        "type": "t",
        "key": "b",
        "payload": b"12345",
        "created_at": now(),
        "dead_lettered_at": now(),
    }
    async with reading.database.transaction() as tx:
        await tx.execute(outbox.insert().values(row))
    assert [(each.id, each.size) for each in await list_dead_lettered(reading.database, 10)] == [
        (event.id, 0),
        ("9", 5),
    ]


async def test_what_was_dead_lettered_is_applied_once_more_and_once(reading):
    assert await replay(reading.database, reading.consumers) == (1, 0)
    assert await replay(reading.database, reading.consumers) == (0, 0)
    assert await reading.heard.next(1) == [1]
    assert (await reading.count(), await reading.dead_lettered()) == (2, [])


async def test_what_fails_again_stays_put_aside(reading):
    reading.heard.failing[1] = 1
    assert await replay(reading.database, reading.consumers) == (0, 1)
    assert (await reading.count(), len(await reading.dead_lettered())) == (1, 1)
    assert await replay(reading.database, reading.consumers) == (1, 0)
