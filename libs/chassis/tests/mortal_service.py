"""A program that does everything the chassis promises to do once, and kills itself between two steps of it.

Started once as ``python mortal_service.py``. Each line on stdin is one life, as JSON with these keys:
``database``, ``reader``, ``nats``, ``name`` (of the effect) and ``kill_at``. The last one is the number of
the step before which the process gets SIGKILL (0: it lives). It answers ``killed`` or ``lived``. Every life
is a fork, so a hundred of them take seconds.

A step is a statement sent to a database, a commit, or either side of a publication or an ack.
"""

import asyncio
import json
import os
import signal
import sys
from datetime import timedelta

import msgspec
from asyncpg.transaction import Transaction
from messaging_world import EVENTS, Counted, count_unsent, metadata, tally
from nats.aio.msg import Msg
from sqlalchemy import event, select
from sqlalchemy.engine import Engine

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx, insert
from ingot_chassis.events import consumers, relay
from ingot_chassis.events.bus import Bus
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.events.relay import Relay
from ingot_chassis.jobs import jobs
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.loops import running
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.telemetry import configure_logging

LEASE = timedelta(seconds=0.3)
ACK_WAIT = 0.3
# The process that takes over checks again that soon, instead of after a second.
relay.POLL_SECONDS = consumers.STANDBY_SECONDS = 0.1
jobs.LOOK_AHEAD = timedelta(seconds=0.1)


class Work(msgspec.Struct):
    """The payload of the job."""

    name: str


class Steps:
    """Counts, and ends the process before step ``kill_at``."""

    def __init__(self, kill_at: int) -> None:
        self._kill_at, self._count = kill_at, 0

    def __call__(self, *_: object) -> None:
        self._count += 1
        if self._count == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Count everything that leaves the process."""
        for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
            event.listen(Engine, name, self)
        publish, ack, commit = Bus.publish, Msg.ack, Transaction.commit

        async def counted_publish(bus: Bus, messages: list[tuple[str, str, bytes]]) -> None:
            self()
            await publish(bus, messages)
            self()

        async def counted_ack(message: Msg) -> None:
            self()
            await ack(message)
            self()

        async def counted_commit(transaction: Transaction) -> None:
            self()
            await commit(transaction)
            self()

        Transaction.commit = counted_commit  # PostgreSQL's, which SQLAlchemy does not see
        Bus.publish = counted_publish  # type: ignore[method-assign]
        Msg.ack = counted_ack  # type: ignore[method-assign]


async def add_one(tx: Tx, name: str) -> None:
    """The effect that must happen once."""
    await tx.execute(
        insert(tx, tally)
        .values(name=name, count=1)
        .on_conflict_do_update(index_elements=["name"], set_={"count": tally.c.count + 1})
    )


async def live(database: str, reader: str, nats: str, name: str) -> None:
    """Write with some events and a job, relay, consume and work, until nothing is left to do."""
    writer, other = Database(database, metadata), Database(reader, metadata)
    writer_bus, reader_bus = Bus(nats, name="counter"), Bus(nats, name="reader", ack_wait=ACK_WAIT)
    promised = Jobs(writer, lease=LEASE)

    async def consume(tx: Tx, happened: Counted, _envelope: Envelope) -> None:
        await add_one(tx, happened.name)

    async def work(job: Job) -> None:
        async with writer.transaction() as tx:
            await add_one(tx, msgspec.json.decode(job.payload, type=Work).name)
            await promised.finish(tx, job)

    await write_once(writer, promised, name)
    consumers = Consumers("reader", other, reader_bus, {Counted: consume})
    workers = Workers("counter", promised, {"count": work})
    relay = Relay("counter", writer, writer_bus)
    async with running([("relay", relay.run), *consumers.loops(), *workers.loops()]):
        while not await settled(writer, other, name):
            await asyncio.sleep(0.01)
    for end in (writer_bus, reader_bus, writer, other):
        await end.close()


async def write_once(writer: Database, promised: Jobs, name: str) -> None:
    """State, events and job in one transaction, unless an earlier life has committed it."""
    async with writer.transaction() as tx:
        wrote = await tx.execute(insert(tx, tally).values(name="written", count=1).on_conflict_do_nothing())
        if wrote.rowcount == 1:
            for number in range(EVENTS):
                tx.emit(Counted(name=name, number=number), key="k")
            await promised.add(tx, "count", "k", Work(name="worked"))


async def settled(writer: Database, reader: Database, name: str) -> bool:
    """Return whether the events are sent and applied and the job is done."""
    async with writer.read() as db:
        states = [row.state for row in await db.execute(select(metadata.tables["job"].c.state))]
    async with reader.read() as db:
        applied = (await db.execute(select(tally).where(tally.c.name == name))).first()
    all_applied = applied is not None and applied.count >= EVENTS
    return states == ["done"] and all_applied and await count_unsent(writer) == 0


def main() -> None:
    configure_logging("warning")  # to stderr; stdout carries the answers
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            Steps(order["kill_at"]).watch()
            asyncio.run(live(order["database"], order["reader"], order["nats"], order["name"]))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else "lived" if status == 0 else f"failed {status}", flush=True)


if __name__ == "__main__":
    main()
