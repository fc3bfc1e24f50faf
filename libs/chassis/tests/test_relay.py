"""One relay at a time, and events that are too large for NATS.

The other events are sent, and the too large ones later.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from datetime import timedelta

import msgspec
import pytest
from prometheus_client import REGISTRY
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.events import relay
from ingot_chassis.events.bus import HEADER_BYTES, Bus, BusUnavailable
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.doctor import examine
from ingot_chassis.events.relay import (
    ENVELOPE_BYTES,
    TURN_SECONDS,
    Relay,
    count_dead_lettered,
    send_again,
)
from ingot_chassis.jobs.loops import running

from .messaging_world import Counted, count_unsent, metadata
from .test_consumers import Heard, emit, opened

pytestmark = pytest.mark.both_databases

MIB = 1024 * 1024
OUTBOX = metadata.tables["outbox"]


class Bulk(msgspec.Struct, frozen=True, kw_only=True, tag="counter.bulk.counted.v1"):
    """A number that was counted, with a load."""

    name: str
    number: int
    load: str


class EmitterAndReader:
    """An emitter whose relay steps on demand, and a reader that consumes in the background."""

    def __init__(self, writer, relay, reader, heard):
        self.writer, self.relay, self.reader, self.heard = writer, relay, reader, heard

    async def emit_large(self, number, *, key="k", size=2 * MIB):
        async with self.writer.transaction() as tx:
            return tx.emit(Bulk(name="bulk", number=number, load="x" * size), key=key)


@pytest.fixture
async def messaging(make_url, own_nats):
    async with AsyncExitStack() as stack:
        writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
        buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader", ack_wait=1)
        for each in (writer, reader, *buses):
            stack.push_async_callback(each.close)
        heard = Heard()
        consumers = Consumers("reader", reader, buses[1], {Counted: heard, Bulk: heard})
        await stack.enter_async_context(running(consumers.loops()))
        yield EmitterAndReader(writer, Relay("counter", writer, buses[0]), reader, heard)


def gauge(name, **labels):
    return REGISTRY.get_sample_value(name, labels)


async def test_an_event_that_is_too_large_stops_neither_its_key_nor_others(messaging):
    await emit(messaging.writer, "a", 1)
    await messaging.emit_large(2)
    await emit(messaging.writer, "a", 3)
    await emit(messaging.writer, "b", 4, key="other")
    assert await messaging.relay.step() == 4
    assert await messaging.heard.next(3) == [1, 3, 4]
    assert await count_unsent(messaging.writer) == 0


async def test_what_is_too_large_is_kept_and_counted(messaging):
    event_id = await messaging.emit_large(1)
    await messaging.relay.step()
    assert await count_dead_lettered(messaging.writer) == 1
    assert gauge("ingot_outbox_dead_lettered", service="counter") == 1
    async with messaging.writer.read() as db:
        row = (await db.execute(select(OUTBOX.c.id, OUTBOX.c.payload))).one()
    assert (row.id, len(row.payload) > 2 * MIB) == (event_id, True)


async def test_a_reader_counts_the_tombstone_and_applies_nothing(messaging):
    labels = {"service": "reader", "type": "counter.bulk.counted.v1"}
    before = gauge("ingot_inbox_tombstones_total", **labels) or 0
    await messaging.emit_large(1)
    await emit(messaging.writer, "a", 2)
    await messaging.relay.step()
    assert await messaging.heard.next(1) == [2]
    assert gauge("ingot_inbox_tombstones_total", **labels) > before


async def test_it_is_sent_after_all_when_nats_allows_more(messaging, own_nats):
    await messaging.emit_large(1)
    await messaging.relay.step()
    await asyncio.to_thread(own_nats.stop)
    own_nats.max_payload = 4 * MIB
    await asyncio.to_thread(own_nats.start)
    assert await send_again(messaging.writer) == 1
    async with running([("relay", messaging.relay.run)]):
        assert await messaging.heard.next(1) == [1]
    assert await count_dead_lettered(messaging.writer) == 0


async def test_rows_of_an_earlier_release_are_dead_lettered_at_the_first_start(messaging):
    """A relay that begins finds what stopped the one before."""
    for number in range(3):
        await messaging.emit_large(number, size=5 * MIB)
    await emit(messaging.writer, "a", 7)
    await messaging.relay.step()
    assert await messaging.heard.next(1) == [7]
    assert await count_dead_lettered(messaging.writer) == 3


async def test_the_largest_event_that_fits_is_sent(messaging):
    overhead = len('{"type":"counter.bulk.counted.v1","name":"bulk","number":1,"load":""}')
    await messaging.emit_large(1, size=MIB - HEADER_BYTES - ENVELOPE_BYTES - overhead)
    await messaging.relay.step()
    assert await messaging.heard.next(1) == [1]


async def test_a_backlog_is_sent_without_a_pause_when_the_lock_is_checked(messaging, monkeypatch):
    monkeypatch.setattr(relay, "POLL_SECONDS", 600)
    monkeypatch.setattr(relay, "HOLD_SECONDS", 0.001)  # one batch
    numbers = list(range(2 * relay.BATCH + 1))
    await emit(messaging.writer, "a", *numbers)
    async with running([("relays", messaging.relay.run)]):
        assert await messaging.heard.next(len(numbers)) == numbers


async def test_the_doctor_says_what_to_do(messaging):
    event_id = await messaging.emit_large(1, key="42")
    assert await examine("counter", messaging.writer) == []
    await messaging.relay.step()
    (line,) = await examine("counter", messaging.writer)
    for word in (event_id, "key 42", "max_payload", "ingot-counter replay"):
        assert word in line


async def test_the_age_of_what_waits_is_reported_while_nats_is_down(messaging, own_nats):
    await emit(messaging.writer, "a", 1)
    async with messaging.writer.transaction() as tx:
        await tx.execute(update(OUTBOX).values(created_at=now() - timedelta(minutes=5)))
    await asyncio.to_thread(own_nats.kill)
    with pytest.raises(BusUnavailable):
        await messaging.relay.step()
    assert gauge("ingot_outbox_oldest_seconds", service="counter") > 299


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_commit_of_a_process_without_a_relay_is_sent_at_once(make_url, own_nats, monkeypatch):
    monkeypatch.setattr(relay, "POLL_SECONDS", 600)
    url = make_url()
    databases = [Database(url, metadata) for _ in range(2)]
    buses = [Bus(own_nats.url, name="counter") for _ in range(3)]
    serving, working = (Relay("counter", *pair) for pair in zip(databases, buses, strict=False))
    loops = [serving.signal_commits, working.run, working.wait_for_signals]
    heard = asyncio.Event()
    await databases[1].ping()
    async with (
        running([(loop.__name__, loop) for loop in loops]),
        running([("listens", lambda: buses[2].wake("ingot.counter.number.counted.v1", heard))]),
        asyncio.timeout(60),
    ):
        while not heard.is_set():  # from when on they listen, only the broker knows
            await emit(databases[0], "a", 1)
            await asyncio.sleep(0.05)
    for each in (*buses, *databases):
        await each.close()


async def test_a_process_without_a_relay_goes_on_without_nats(make_url):
    database, bus = Database(make_url(), metadata), Bus("nats://127.0.0.1:1", name="counter")
    async with running([("signals", Relay("counter", database, bus).signal_commits)]):
        await emit(database, "a", 1)
        async with asyncio.timeout(20):
            while database.committed_events.is_set():
                await asyncio.sleep(0.01)
    assert await count_unsent(database) == 1
    await bus.close()
    await database.close()


class CountedLocks(Database):
    """Counts who asks for a lock."""

    looks = 0

    def exclusive(self, name):
        self.looks += 1
        return super().exclusive(name)


async def test_a_relay_without_the_lock_does_not_look_at_it_with_every_commit(make_url):
    database, bus = CountedLocks(make_url(), metadata), Bus("nats://127.0.0.1:1", name="counter")
    async with database.exclusive("relay") as mine:
        assert mine
        began, database.looks = time.monotonic(), 0
        async with running([("relay", Relay("counter", database, bus).run)]):
            for number in range(30):
                await emit(database, "a", number)
        assert 1 <= database.looks <= 1 + (time.monotonic() - began) / TURN_SECONDS
    await bus.close()
    await database.close()


async def first_look(database):
    """Return when the relay has looked for events, and waits for some."""
    async with asyncio.timeout(20):
        is_free = False
        while not is_free:
            await asyncio.sleep(0)
            if database.looks:
                async with Database.exclusive(database, "relay") as mine:
                    is_free = bool(mine)


class CountedBatches(Bus):
    """Remembers how many events were sent together."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.sizes = []
        self.has_sent = asyncio.Event()

    async def publish(self, events):
        await super().publish(events)
        self.sizes.append(len(events))
        self.has_sent.set()


async def test_events_that_one_call_makes_soon_after_each_other_are_sent_together(
    make_url, own_nats, monkeypatch
):
    monkeypatch.setattr(relay, "LINGER_SECONDS", 2.0)
    bus = CountedBatches(own_nats.url, name="counter")
    async with opened(CountedLocks(make_url(), metadata), bus) as (database, _):
        async with running([("relay", Relay("counter", database, bus).run)]):
            await first_look(database)
            await emit(database, "a", 1)
            await emit(database, "a", 2)
            await asyncio.wait_for(bus.has_sent.wait(), 20)
        assert bus.sizes == [2]


async def test_only_one_relay_of_a_service_works_at_a_time(make_url, own_nats):
    url = make_url()
    async with opened(Database(url, metadata), Bus(own_nats.url, name="counter")) as (database, bus):
        await emit(database, "a", 1)
        async with database.exclusive("relay") as mine:
            assert mine
            assert await Relay("counter", database, bus).step() == 0
        assert await Relay("counter", database, bus).step() == 1


async def test_the_relay_marks_nothing_while_nats_is_down(make_url, own_nats):
    async with opened(Database(make_url(), metadata), Bus(own_nats.url, name="counter")) as (database, bus):
        await emit(database, "a", 1)
        await asyncio.to_thread(own_nats.kill)
        with pytest.raises(BusUnavailable):
            await Relay("counter", database, bus).step()
        assert await count_unsent(database) == 1
