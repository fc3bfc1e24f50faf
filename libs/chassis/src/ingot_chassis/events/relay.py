"""The relay: sends events from the outbox to JetStream, in order, and again if a stream was lost.

Delivery is at least once: a batch that was published but not marked is published again. JetStream (by message
id) and the consumers' inbox drop the duplicates. A process without background work has no relay: after each
commit of events it signals the relays of other processes.

An event that is too large for NATS is dead-lettered. A tombstone takes its place in the order of its key, and
the row keeps the event. A metric counts it until an operator acts (``doctor``, docs/how-to/runbook.md).
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

import msgspec
import structlog
from opentelemetry.trace import SpanKind
from prometheus_client import Counter, Gauge
from sqlalchemy import Integer, Table, bindparam, case, delete, func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.database import Database, ExclusiveLock
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.transaction import insert
from ingot_chassis.events.bus import Bus, BusUnavailable
from ingot_chassis.events.envelope import Envelope, stream_of, subject
from ingot_chassis.jobs.loops import wait_for
from ingot_chassis.telemetry import start_span

log = structlog.get_logger()

BATCH = 100
ENVELOPE_BYTES = 1000
"""Maximum bytes that an envelope adds to its event."""
POLL_SECONDS = 30.0
"""Seconds after which the relay looks for events without a signal. Each signal is sent until NATS has it."""
CHECK_SECONDS = 30.0
"""Seconds between checks that the stream is there, while NATS is available."""
STANDBY_SECONDS = 5.0
"""Seconds after which the relay tries to get the lock again."""
HOLD_SECONDS = 5.0
"""Seconds for which the relay keeps its lock without a check, while events arrive."""
SIGNAL_PAUSE = 1.0
"""Seconds before a signal is repeated that could not be sent."""
LINGER_SECONDS = 0.01
"""Seconds that an event waits for later events of the same request, and for its response.

Otherwise the consumers would compete with the request for processors, and for rows that it still changes.
"""
TURN_SECONDS = 0.05
"""The shortest time between two batches, or two checks of the lock: under load a batch has more events."""
KEEP = timedelta(days=7)

SENT = Counter("ingot_outbox_sent_total", "Events handed to JetStream", ["service"])
AGE = Gauge("ingot_outbox_oldest_seconds", "Age of the oldest event that is not sent", ["service"])
DEAD_LETTERED = Gauge("ingot_outbox_dead_lettered", "Events that are too large to be sent", ["service"])


_encoder = msgspec.json.Encoder()


class EventRow(TypedRow):
    """A row of the outbox. ``payload`` is None for a tombstone."""

    seq: int
    id: str
    type: str
    key: str
    payload: bytes | None
    traceparent: str | None
    created_at: datetime


class OutboxRow(EventRow):
    """An unsent event. ``size`` is the size of its payload in bytes, even if ``payload`` is None."""

    size: int


def encode_row(row: EventRow) -> bytes:
    """Encode an outbox row as an envelope, or as a tombstone if the row has no payload."""
    return _encoder.encode(
        Envelope(
            id=row.id,
            type=row.type,
            key=row.key,
            seq=row.seq,
            occurred_at=row.created_at,
            data=msgspec.Raw(b"null" if row.payload is None else row.payload),
            traceparent=row.traceparent,
            is_tombstone=row.payload is None,
        )
    )


class Relay:
    """A publisher of the outbox of ``service``. Any number of relays may run, but only one publishes."""

    def __init__(self, service: str, database: Database, bus: Bus) -> None:
        self._service, self._db, self._bus = service, database, bus
        self._outbox = database.metadata.tables["outbox"]
        self._state = database.metadata.tables["relay"]
        self._check_at = 0.0
        self._signals = f"ingot-commits.{service}"
        """The topic of `signal_commits`. No stream stores it."""
        self._unsent, self._mark = _unsent(self._outbox), _mark(self._outbox)

    async def run(self) -> None:
        """Relay events until cancelled. Raises BusUnavailable."""
        while True:
            try:
                pause = await self._send_until_quiet()
            except BusUnavailable:
                self._check_at = 0.0  # the stream may be lost: check it at once, not at the next turn
                raise
            if pause:
                await wait_for(self._db.committed_events, pause)
            await asyncio.sleep(LINGER_SECONDS)
            self._db.committed_events.clear()  # events that were committed until now are sent now

    async def wait_for_signals(self) -> None:
        """Wake this relay when a process without a relay has committed events. Runs until cancelled."""
        await self._bus.wake(self._signals, self._db.committed_events)

    async def signal_commits(self) -> None:
        """Wake the relays of other processes after each commit of events, until cancelled.

        This runs instead of ``run``. Without NATS the signal is repeated until it is sent.
        """
        while True:
            await self._db.committed_events.wait()
            self._db.committed_events.clear()
            try:
                await self._bus.signal(self._signals)
            except BusUnavailable:
                await asyncio.sleep(SIGNAL_PAUSE)
                self._db.committed_events.set()

    async def step(self) -> int:
        """Send one batch. Return its length, or 0 if another process holds the lock.

        Raises BusUnavailable. After this error no event of the batch is marked as sent.
        """
        async with self._db.exclusive("relay") as mine:
            return await self._step() if self._is_mine(mine) else 0

    async def _send_until_quiet(self) -> float:
        """Send events until none are left, or until the lock must be checked again.

        Return the seconds to wait for a signal: 0 if events are left. Raises the errors of ``step``.
        """
        until, pause = time.monotonic() + HOLD_SECONDS, 0.0
        async with self._db.exclusive("relay") as mine:
            while self._is_mine(mine) and (turn := time.monotonic()) < until:
                sent = await self._step()
                if sent == 0:
                    pause = POLL_SECONDS
                    break
                if sent < BATCH:
                    await asyncio.sleep(turn + TURN_SECONDS - time.monotonic())
        if not mine:  # every commit of this process wakes it, and each check costs a transaction
            await asyncio.sleep(TURN_SECONDS)
            pause = STANDBY_SECONDS
        return pause

    def _is_mine(self, mine: ExclusiveLock) -> bool:
        if not mine:
            DEAD_LETTERED.labels(self._service).set(0)  # the relay that holds the lock sets it
        return bool(mine)

    async def _step(self) -> int:
        try:
            if (moment := time.monotonic()) >= self._check_at:
                await self._rewind_if_lost()
                DEAD_LETTERED.labels(self._service).set(await count_dead_lettered(self._db))
                self._check_at = moment + CHECK_SECONDS
            limit = await self._bus.largest_body()
        except BusUnavailable:
            await self._unsent_rows(
                ENVELOPE_BYTES, most=1
            )  # the age of events matters most while NATS is unavailable
            raise
        return await self._send_batch(limit)

    async def _send_batch(self, limit: int) -> int:
        rows = await self._unsent_rows(limit)
        if not rows:
            return 0
        spans = [start_span(f"publish {row.type}", row.traceparent, SpanKind.PRODUCER) for row in rows]
        try:
            await self._bus.publish([(subject(row.type), _message_id(row), encode_row(row)) for row in rows])
        finally:
            for span in spans:
                span.end()
        await self._mark_sent(rows, limit)
        return len(rows)

    async def _unsent_rows(self, limit: int, *, most: int = BATCH) -> Sequence[OutboxRow]:
        """Return the oldest unsent rows. ``payload`` is None if its envelope would exceed ``limit`` bytes."""
        async with self._db.read() as db:
            rows = await self._unsent.all(db, room=limit - ENVELOPE_BYTES, most=most)
        AGE.labels(self._service).set((now() - rows[0].created_at).total_seconds() if rows else 0)
        return rows

    async def _mark_sent(self, rows: Sequence[OutboxRow], limit: int) -> None:
        too_large = [row for row in rows if row.payload is None]
        numbers, numbers_of_large = [row.seq for row in rows], [row.seq for row in too_large]
        await self._db.run_alone(
            lambda db: self._mark.run(db, numbers=numbers, too_large=numbers_of_large, at=now())
        )
        SENT.labels(self._service).inc(len(rows) - len(too_large))
        for row in too_large:
            log.error(
                "event dead-lettered: larger than NATS allows; see docs/how-to/runbook.md",
                type=row.type, id=row.id, key=row.key, bytes=row.size, limit=limit,
            )  # fmt: skip
        if too_large:
            DEAD_LETTERED.labels(self._service).set(await count_dead_lettered(self._db))

    async def _rewind_if_lost(self) -> None:
        """Send all kept events again if the stream was created again."""
        created = str(await self._bus.ensure_stream(self._service))
        async with self._db.read() as db:
            last_created = (
                await db.execute(
                    select(self._state.c.created).where(self._state.c.stream == stream_of(self._service))
                )
            ).scalar()
        if last_created == created:
            return
        async with self._db.transaction() as tx:
            if last_created is not None:
                log.warning("stream was lost, sending its events again", stream=stream_of(self._service))
                await tx.execute(update(self._outbox).values(sent_at=None))
            await tx.execute(
                insert(tx, self._state)
                .values(stream=stream_of(self._service), created=created)
                .on_conflict_do_update(index_elements=["stream"], set_={"created": created})
            )

    async def forget_old(self) -> None:
        """Delete sent events that are older than the retention time."""
        async with self._db.transaction() as tx:
            await tx.execute(delete(self._outbox).where(self._outbox.c.sent_at < now() - KEEP))


@cache
def _unsent(outbox: Table) -> PreparedQuery[OutboxRow]:
    """Return a query for the oldest unsent rows.

    ``payload`` is None if it has more than ``room`` bytes.
    """
    size = func.length(outbox.c.payload, type_=Integer)
    fits = size <= bindparam("room", type_=Integer)
    names = ("seq", "id", "type", "key", "traceparent", "created_at")
    columns = [*(outbox.c[name] for name in names), case((fits, outbox.c.payload)).label("payload")]
    unsent = select(*columns, size.label("size")).where(outbox.c.sent_at.is_(None)).order_by(outbox.c.seq)
    return PreparedQuery(unsent.limit(bindparam("most", type_=Integer)), OutboxRow)


@cache
def _mark(outbox: Table) -> PreparedWrite:
    """Return the statement that marks rows as handled, and the rows ``too_large`` as dead-lettered."""
    at = bindparam("at", type_=outbox.c.sent_at.type)
    dead_lettered_at = case((any_of(outbox.c.seq, "too_large"), at))
    handled = update(outbox).where(any_of(outbox.c.seq, "numbers"))
    return PreparedWrite(handled.values(sent_at=at, dead_lettered_at=dead_lettered_at))


def _message_id(row: OutboxRow) -> str:
    """Return the message id: the event's id, or another id for a tombstone.

    If a tombstone had the event's id, JetStream would drop the event as a duplicate when it is sent later.
    """
    return str(row.id) if row.payload is not None else f"{row.id}.tombstone"


async def count_dead_lettered(database: Database) -> int:
    """Return the number of events that were too large to be sent."""
    outbox = database.metadata.tables["outbox"]
    async with database.read() as db:
        counted = await db.execute(select(func.count()).where(outbox.c.dead_lettered_at.is_not(None)))
        return int(counted.scalar_one())


async def send_again(database: Database) -> int:
    """Queue dead-lettered events for the relay again. Return their number."""
    outbox = database.metadata.tables["outbox"]
    async with database.transaction() as tx:
        tx.on_commit(database.committed_events.set)
        statement = update(outbox).where(outbox.c.dead_lettered_at.is_not(None))
        return (await tx.execute(statement.values(sent_at=None, dead_lettered_at=None))).rowcount
