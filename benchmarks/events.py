"""Events per second and CPU per event, of one relay from outbox to NATS and of one consumer.

The outbox table on PostgreSQL is filled in advance. A consumer runs one INSERT or UPDATE of a row per event.
``python benchmarks/events.py [--events N] [--check]``. With --check it exits with code 1 if a rate is below
its bound.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from backing import empty_servers
from sqlalchemy import bindparam
from sqlalchemy.dialects import postgresql

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "libs" / "chassis")]

from tests.messaging_world import Counted, count_unsent, metadata, tally  # noqa: E402

from ingot_chassis.db.database import Database  # noqa: E402
from ingot_chassis.db.prepared import PreparedWrite  # noqa: E402
from ingot_chassis.db.transaction import Tx  # noqa: E402
from ingot_chassis.events.bus import Bus  # noqa: E402
from ingot_chassis.events.consumers import Consumers  # noqa: E402
from ingot_chassis.events.envelope import Envelope  # noqa: E402
from ingot_chassis.events.relay import Relay  # noqa: E402
from ingot_testing.servers import NatsServer  # noqa: E402

BOUND = 2000
KEYS = 50
AT_ONCE = 10
"""Events per transaction of the emitter."""
ADD = postgresql.insert(tally).values(name=bindparam("name"), count=bindparam("count"))
SET = PreparedWrite(ADD.on_conflict_do_update(index_elements=["name"], set_={"count": ADD.excluded["count"]}))


class Applied:
    """A counter of the events that a consumer applied."""

    def __init__(self) -> None:
        self.count = 0

    async def apply(self, tx: Tx, event: Counted, _envelope: Envelope) -> None:
        await SET.run(tx, name=event.name, count=event.number)
        self.count += 1


async def emit(database: Database, events: int) -> None:
    """Fill the outbox."""
    for first in range(0, events, AT_ONCE):
        async with database.transaction() as tx:
            for number in range(first, first + AT_ONCE):
                name = f"key-{number % KEYS}"
                tx.emit(Counted(name=name, number=number), key=name)


async def measure(what: str, events: int, work: Awaitable[None], left: Callable[[], Awaitable[int]]) -> bool:
    """Run ``work`` until no event is left, and print its figures. Return True if the rate is within the
    bound."""
    task = asyncio.ensure_future(work)
    started, spent = time.perf_counter(), time.process_time()
    while await left():
        if task.done():
            task.result()
        await asyncio.sleep(0.05)
    rate = events / (time.perf_counter() - started)
    spent = (time.process_time() - spent) / events
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    print(f"{what}: {rate:.0f} events/s (bound {BOUND}), {spent * 1e6:.0f} µs CPU for each", flush=True)
    return rate >= BOUND


async def measure_both(database_url: str, nats: NatsServer, events: int) -> bool:
    """Measure the relay, then the consumer. Return True if both are within the bound."""
    database = Database(database_url, metadata)
    emitter, consumer = Bus(nats.url, name="counter"), Bus(nats.url, name="reader")
    applied = Applied()
    try:
        async with database.writing.begin() as connection:
            await connection.run_sync(metadata.create_all)
        await emit(database, events)
        relay = Relay("counter", database, emitter)
        within = await measure("relay", events, relay.run(), lambda: count_unsent(database))
        consumers = Consumers("reader", database, consumer, {Counted: applied.apply})
        ((_, consume),) = consumers.loops()

        async def left() -> int:
            return events - applied.count

        return await measure("consumer", events, consume(), left) and within
    finally:
        for bus in (emitter, consumer):
            await bus.close()
        await database.close()
        nats.stop()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--check", action="store_true", help="fail if a rate is below its bound")
    options = parser.parse_args()
    with empty_servers() as (servers, databases):
        within = await measure_both(databases.empty(), servers.own_nats(), options.events)
    if options.check and not within:
        raise SystemExit(1)


if __name__ == "__main__":
    asyncio.run(main())
