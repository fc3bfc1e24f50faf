"""Events that a consumer gave up, and how they are applied after all."""

from contextlib import AsyncExitStack

import pytest
from messaging_world import Counted, metadata, tally
from sqlalchemy import select
from test_messaging import Heard, emit

from ingot_chassis.bus import Bus
from ingot_chassis.database import Database
from ingot_chassis.inbox import Consumers
from ingot_chassis.loops import running
from ingot_chassis.outbox import Relay
from ingot_chassis.replay import replay


class Reading:
    """A reader that gives up at the first failure, after it heard 1 and 2 and could not apply 1."""

    def __init__(self, database, consumers, heard):
        self.database, self.consumers, self.heard = database, consumers, heard

    async def put_aside(self):
        inbox = metadata.tables["inbox"]
        async with self.database.read() as db:
            found = await db.execute(select(inbox.c.error).where(inbox.c.error.is_not(None)))
            return [error for (error,) in found]

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
        yield Reading(reader, consumers, heard)


async def test_an_event_that_is_given_up_is_put_aside_and_lets_its_key_go_on(reading):
    assert await reading.put_aside() == ["RuntimeError('not now')"]
    assert await reading.count() == 1


async def test_what_was_put_aside_is_applied_once_more_and_once(reading):
    assert await replay(reading.database, reading.consumers) == (1, 0)
    assert await replay(reading.database, reading.consumers) == (0, 0)
    assert await reading.heard.next(1) == [1]
    assert (await reading.count(), await reading.put_aside()) == (2, [])


async def test_what_fails_again_stays_put_aside(reading):
    reading.heard.failing[1] = 1
    assert await replay(reading.database, reading.consumers) == (0, 1)
    assert (await reading.count(), len(await reading.put_aside())) == (1, 1)
    assert await replay(reading.database, reading.consumers) == (1, 0)
