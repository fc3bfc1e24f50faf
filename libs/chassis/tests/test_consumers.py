"""Outbox, relay, inbox and bus on real databases and a real NATS."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from itertools import cycle

import asyncpg
import msgspec
import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import OperationalError

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import insert
from ingot_chassis.errors import DatabaseUnavailable
from ingot_chassis.events import consumers
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import Consumers, Together, combine
from ingot_chassis.events.envelope import event_type, subject
from ingot_chassis.events.relay import Relay
from ingot_chassis.jobs.loops import running

from .messaging_world import Counted, count_unsent, metadata, tally

pytestmark = pytest.mark.both_databases


@asynccontextmanager
async def opened(*things):
    try:
        yield things
    finally:
        for thing in things:
            await thing.close()


async def emit(database, name, *numbers, key="k"):
    async with database.transaction() as tx:
        for number in numbers:
            tx.emit(Counted(name=name, number=number), key=key)


class Heard:
    """A handler that remembers what it applied, and fails at the numbers in ``failing``.

    It does so twice, for what fails together with others is tried alone before anything else.
    """

    def __init__(self, *failing):
        self.numbers, self.failing = asyncio.Queue(), Counter(dict.fromkeys(failing, 2))

    async def __call__(self, tx, happened, _envelope):
        if self.failing[happened.number]:
            self.failing[happened.number] -= 1
            raise RuntimeError("not now")
        await tx.execute(
            insert(tx, tally)
            .values(name=happened.name, count=1)
            .on_conflict_do_update(index_elements=["name"], set_={"count": tally.c.count + 1})
        )
        tx.on_commit(lambda: self.numbers.put_nowait(happened.number))

    async def next(self, count):
        return [await asyncio.wait_for(self.numbers.get(), 20) for _ in range(count)]


@asynccontextmanager
async def telling_and_hearing(make_url, nats_url, heard):
    """An emitter with its relay and a reader with its consumer, both running."""
    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = Bus(nats_url, name="counter"), Bus(nats_url, name="reader", ack_wait=1)
    async with opened(writer, reader, *buses):
        relay = Relay("counter", writer, buses[0])
        consumers = Consumers("reader", reader, buses[1], {Counted: heard})
        async with running([("relay", relay.run), *consumers.loops()]):
            yield writer, reader


async def test_a_rolled_back_transaction_tells_nothing(make_url):
    async with opened(Database(make_url(), metadata)) as (database,):

        async def fail():
            async with database.transaction() as tx:
                tx.emit(Counted(name="a", number=1), key="k")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fail()
        assert await count_unsent(database) == 0


async def test_events_of_a_key_arrive_in_order_and_each_is_applied_once(make_url, own_nats):
    heard = Heard()
    async with telling_and_hearing(make_url, own_nats.url, heard) as (writer, reader):
        for start in range(0, 300, 50):
            await emit(writer, "a", *range(start, start + 50))
        assert await heard.next(300) == list(range(300))
        async with reader.read() as db:
            assert (await db.execute(select(tally.c.count))).scalar() == 300


async def test_a_failing_event_holds_back_its_key_and_no_other(make_url, own_nats):
    heard = Heard(1)
    async with telling_and_hearing(make_url, own_nats.url, heard) as (writer, _):
        await emit(writer, "a", 1, 2, key="slow")
        await emit(writer, "a", 10, key="quick")
        arrived = await heard.next(3)
        assert [number for number in arrived if number < 10] == [1, 2]
        assert arrived[-1] == 2


async def test_what_waits_behind_a_failing_event_keeps_its_order(make_url, own_nats):
    """Some arrive with it and some later. It fails long enough for all of them to be due at once."""
    heard = Heard()
    heard.failing[1] = 4
    async with telling_and_hearing(make_url, own_nats.url, heard) as (writer, _):
        for number in range(1, 8):
            await emit(writer, "a", number, key="slow")
        assert await heard.next(7) == list(range(1, 8))


async def test_an_event_is_not_given_up_because_the_database_was_away_or_full(make_url, own_nats):
    heard = Heard()
    full = OperationalError("INSERT", None, asyncpg.DiskFullError("could not extend file"))
    troubles = cycle([DatabaseUnavailable("connection refused"), full])

    async def hear(tx, happened, envelope):
        if heard.failing[happened.number]:
            heard.failing[happened.number] -= 1
            raise next(troubles)
        await heard(tx, happened, envelope)

    heard.failing[1] = 5
    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader", ack_wait=1)
    async with opened(writer, reader, *buses):
        await emit(writer, "a", 1, 2)
        await Relay("counter", writer, buses[0]).step()
        consumers = Consumers("reader", reader, buses[1], {Counted: hear}, give_up=2)
        async with running(consumers.loops()):
            assert await heard.next(2) == [1, 2]


async def test_what_arrives_together_is_applied_in_one_transaction(make_url, own_nats):
    heard, transactions = Heard(), set()

    async def hear(tx, happened, envelope):
        transactions.add(tx)
        await heard(tx, happened, envelope)

    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader")
    async with opened(writer, reader, *buses):
        await emit(writer, "a", *range(20))
        await Relay("counter", writer, buses[0]).step()
        async with running(Consumers("reader", reader, buses[1], {Counted: hear}).loops()):
            assert await heard.next(20) == list(range(20))
    assert len(transactions) == 1


class Recounted(Counted, frozen=True, kw_only=True, tag="counter.number.recounted.v1"):
    """A number was counted once more."""


async def test_a_handler_that_can_takes_events_that_follow_one_another_at_once(make_url, own_nats):
    heard, taken = Heard(), []

    async def take(tx, events):
        taken.append([event.number for event, _ in events])
        for event, envelope in events:
            await heard(tx, event, envelope)

    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader")
    async with opened(writer, reader, *buses):
        for event in (
            Counted(name="a", number=1),
            Counted(name="b", number=2),
            Recounted(name="a", number=3),
        ):
            async with writer.transaction() as tx:
                tx.emit(event, key="k")
        await emit(writer, "a", 4)
        await Relay("counter", writer, buses[0]).step()
        subscriptions = {Counted: Together(take), Recounted: heard}
        async with running(Consumers("reader", reader, buses[1], subscriptions).loops()):
            assert await heard.next(4) == [1, 2, 3, 4]
    assert taken == [[1, 2], [4]]


async def test_one_of_many_that_are_taken_at_once_fails_alone(make_url, own_nats):
    heard = Heard(2)

    async def take(tx, events):
        for event, envelope in events:
            await heard(tx, event, envelope)

    async with telling_and_hearing(make_url, own_nats.url, Together(take)) as (writer, _):
        for number in (1, 2, 3):
            await emit(writer, "a", number, key=str(number))
        assert sorted(await heard.next(3)) == [1, 2, 3]


async def test_one_that_fails_among_many_takes_none_with_it(make_url, own_nats):
    heard = Heard(7)
    async with telling_and_hearing(make_url, own_nats.url, heard) as (writer, reader):
        async with writer.transaction() as tx:
            for number in range(20):
                tx.emit(Counted(name="a", number=number), key=number % 5)
        assert sorted(await heard.next(20)) == list(range(20))
        async with reader.read() as db:
            assert (await db.execute(select(tally.c.count))).scalar() == 20


async def test_a_transaction_of_many_events_gives_way_to_one_that_holds_a_lock(make_url, own_nats):
    """A request locks one row and waits for a second one, changed by earlier events: no deadlock."""
    heard, first_is_changed = Heard(), asyncio.Event()

    async def hear(tx, happened, envelope):
        await heard(tx, happened, envelope)
        first_is_changed.set()

    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader")
    async with opened(writer, reader, *buses):
        async with reader.transaction() as tx:
            await tx.execute(tally.insert(), [{"name": "first", "count": 0}, {"name": "second", "count": 0}])
        async with writer.transaction() as tx:
            tx.emit(Counted(name="first", number=1), key="first")
            tx.emit(Counted(name="second", number=2), key="second")
        await Relay("counter", writer, buses[0]).step()
        if reader.is_sqlite:
            first_is_changed.set()  # a transaction there begins when the one before has ended
        async with running(Consumers("reader", reader, buses[1], {Counted: hear}).loops()):
            async with reader.transaction() as tx:
                await tx.execute(update(tally).where(tally.c.name == "second").values(count=100))
                await first_is_changed.wait()
                await tx.execute(update(tally).where(tally.c.name == "first").values(count=100))
            assert sorted(await heard.next(2)) == [1, 2]
        async with reader.read() as db:
            rows = await db.execute(select(tally.c.name, tally.c.count))
            assert dict(rows.all()) in ({"first": 101, "second": 101}, {"first": 100, "second": 101})


async def test_a_restart_does_not_let_later_events_pass_a_failed_one(make_url, own_nats):
    """The failed event waits longest of all. Later events must not be applied before it, by any process."""
    heard = Heard(1)
    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader", ack_wait=1)
    async with opened(writer, reader, *buses):
        await emit(writer, "a", 1, 2, 3)
        await Relay("counter", writer, buses[0]).step()
        async with running(Consumers("reader", reader, buses[1], {Counted: heard}).loops()):
            while heard.failing.total():
                await asyncio.sleep(0)
        async with running(Consumers("reader", reader, buses[1], {Counted: heard}).loops()):
            assert await heard.next(3) == [1, 2, 3]


async def test_what_a_predecessor_took_is_applied_at_once_and_before_newer_events(make_url, own_nats):
    """Redelivery would take an hour."""
    heard = Heard(1)
    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = Bus(own_nats.url, name="counter"), Bus(own_nats.url, name="reader", ack_wait=3600)
    async with opened(writer, reader, *buses):
        relay = Relay("counter", writer, buses[0])
        await emit(writer, "a", 1, *range(2, 300))
        await relay.step()
        async with running(Consumers("reader", reader, buses[1], {Counted: heard}).loops()):
            while heard.failing.total():
                await asyncio.sleep(0)
        await emit(writer, "a", 300)
        while await relay.step():
            pass
        async with running(Consumers("reader", reader, buses[1], {Counted: heard}).loops()):
            assert await heard.next(300) == list(range(1, 301))


LOCK_HOLDERS = """SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE locktype = 'advisory' AND granted AND datname = current_database()"""
EVERYBODY = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


async def scalar(database, statement):
    async with database.read() as db:
        return (await db.execute(statement)).scalar()


class OrderOfKeys:
    """Record events that a handler applies after any number other than the previous one, in any process."""

    def __init__(self):
        self.wrong = []

    async def __call__(self, tx, happened, _envelope):
        row = update(tally).where(tally.c.name == happened.name).values(count=happened.number)
        if not (await tx.execute(row.where(tally.c.count == happened.number - 1))).rowcount:
            await tx.execute(row.where(tally.c.count < happened.number))
            tx.on_commit(lambda: self.wrong.append(happened))


@pytest.mark.parametrize("whom", [LOCK_HOLDERS, EVERYBODY], ids=["the lock alone", "everything"])
@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_order_holds_while_postgresql_cuts_connections_of_two_replicas(make_url, own_nats, whom):
    url, keys, order = make_url(), "abcde", OrderOfKeys()
    writer, *readers = Database(make_url(), metadata), Database(url, metadata), Database(url, metadata)
    buses = [Bus(own_nats.url, name=name, ack_wait=1) for name in ("counter", "reader", "reader")]
    async with opened(writer, *readers, *buses), asyncio.timeout(120):
        async with readers[0].transaction() as tx:
            await tx.execute(tally.insert(), [{"name": key, "count": 0} for key in keys])
        relay = Relay("counter", writer, buses[0])
        consumers = [
            Consumers("reader", *each, {Counted: order}) for each in zip(readers, buses[1:], strict=True)
        ]
        async with running([loop for one in consumers for loop in one.loops()]):
            number, cuts, rounds, former = 0, 0, 0, None
            while not order.wrong and (cuts < 3 or rounds < 30):
                for key in keys:
                    await emit(writer, key, *range(number + 1, number + 4), key=key)
                await relay.step()
                number, rounds = number + 3, rounds + 1
                holder = await scalar(readers[0], text(LOCK_HOLDERS))
                if holder in (None, former):
                    rounds = 0  # no other process has taken over
                elif cuts < 3 and rounds == 15:
                    connections = f"SELECT pg_terminate_backend(pid) FROM ({whom}) AS connection"
                    await scalar(readers[0], text(connections))
                    cuts, former, rounds = cuts + 1, holder, 0
            while not order.wrong and await scalar(readers[0], select(func.min(tally.c.count))) < number:
                await asyncio.sleep(0)
    assert not order.wrong


async def test_what_another_process_got_is_applied_before_what_comes_next(make_url, own_nats):
    """It has lost the lock while it waited for messages. Redelivery would take an hour."""
    heard = Heard()
    writer, reader = Database(make_url(), metadata), Database(make_url(), metadata)
    buses = [Bus(own_nats.url, name=name, ack_wait=3600) for name in ("counter", "reader", "reader")]
    async with opened(writer, reader, *buses):
        relay, number = Relay("counter", writer, buses[0]), 1
        consumers = Consumers("reader", reader, buses[1], {Counted: heard})
        await emit(writer, "a", number)
        await relay.step()
        async with running(consumers.loops()):
            assert await heard.next(1) == [1]
            subscription = await buses[2].ensure_consumer(
                consumer="reader", emitter="counter", subjects=[subject(event_type(Counted))]
            )
            fetch = asyncio.create_task(subscription.fetch(1, timeout=60))
            while not fetch.done():
                number += 1
                await emit(writer, "a", number)
                await relay.step()
            await emit(writer, "a", number + 1)
            await relay.step()
            assert await heard.next(number) == list(range(2, number + 2))
        assert len(fetch.result()) == 1


async def test_events_flow_again_after_nats_was_killed_many_times(make_url, own_nats):
    heard = Heard()
    async with telling_and_hearing(make_url, own_nats.url, heard) as (writer, _):
        for number in range(5):
            await emit(writer, "a", number)
            assert await heard.next(1) == [number]
            await asyncio.to_thread(own_nats.kill)
            await emit(writer, "a", 100 + number)
            await asyncio.to_thread(own_nats.start)
            assert await heard.next(1) == [100 + number]


async def test_a_lost_stream_is_built_again_and_nothing_is_applied_twice(make_url, own_nats, monkeypatch):
    monkeypatch.setattr(consumers, "FETCH_SECONDS", 0.5)  # no connection is lost that would end the wait
    heard = Heard()
    async with telling_and_hearing(make_url, own_nats.url, heard) as (writer, reader):
        await emit(writer, "before", 1)
        assert await heard.next(1) == [1]
        admin = Bus(own_nats.url, name="admin")
        async with opened(admin):
            await (await admin.connect()).delete_stream("INGOT_COUNTER")
        await emit(writer, "after", 2)
        assert await heard.next(1) == [2]
        async with reader.read() as db:
            assert dict((await db.execute(select(tally.c.name, tally.c.count))).all()) == {
                "before": 1,
                "after": 1,
            }


class Tick(msgspec.Struct):
    """Another event."""


async def test_combined_handlers_of_an_event_are_called_in_their_order():
    calls: list[str] = []

    def handler(name):
        async def handle(tx, event, envelope):
            calls.append(f"{name} {tx} {event} {envelope}")

        return handle

    combined = combine({Counted: handler("first")}, {}, {Counted: handler("second"), Tick: handler("third")})
    await combined[Counted]("tx", "event", "envelope")
    assert calls == ["first tx event envelope", "second tx event envelope"]
    assert list(combined) == [Counted, Tick]
