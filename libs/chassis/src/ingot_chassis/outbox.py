"""The relay: takes events from the outbox, in order, to JetStream; and starts over when a stream was lost.

At least once: a batch that was published but not marked is published again, and JetStream (by message id)
and the consumers' inbox drop the copies.
"""

import asyncio
import time
from datetime import timedelta

import structlog
from opentelemetry.trace import SpanKind
from prometheus_client import Counter, Gauge
from sqlalchemy import delete, func, select, update

from ingot_chassis.bus import Bus, BusDown
from ingot_chassis.database import Database, insert
from ingot_chassis.events import encode_row, stream_of, subject
from ingot_chassis.loops import wait_for
from ingot_chassis.tables import now
from ingot_chassis.telemetry import begun_span

log = structlog.get_logger()

BATCH = 100
POLL_SECONDS = 1.0
TURN_SECONDS = 0.05
"""The shortest time between two batches: under load one holds more, and a lone event waits for nothing."""
KEEP = timedelta(days=7)

SENT = Counter("ingot_outbox_sent_total", "Events handed to JetStream", ["service"])
AGE = Gauge("ingot_outbox_oldest_seconds", "Age of the oldest event that is not sent", ["service"])


class Relay:
    """Moves the outbox of ``service``; any number may run, one at a time works."""

    def __init__(self, service: str, database: Database, bus: Bus) -> None:
        self._service, self._db, self._bus = service, database, bus
        self._outbox = database.metadata.tables["outbox"]
        self._state = database.metadata.tables["relay"]
        self._steps = 0

    async def run(self) -> None:
        """Relay until cancelled."""
        while True:
            turn = time.monotonic() + TURN_SECONDS
            try:
                sent = await self.step()
            except BusDown:
                self._steps = 0  # the stream may be gone for good: look at once, not at the next turn
                raise
            if sent < BATCH:
                await asyncio.sleep(turn - time.monotonic())
                await wait_for(self._db.committed_events, POLL_SECONDS)

    async def step(self) -> int:
        """Send one batch; how many events it held. Raises BusDown, and then nothing is marked."""
        async with self._db.exclusive("relay") as mine:
            if not mine:
                return 0
            if self._steps % 30 == 0:
                await self._rewind_if_lost()
                await self._forget_old()
            self._steps += 1
            return await self._send_batch()

    async def _send_batch(self) -> int:
        outbox = self._outbox
        async with self._db.read() as db:
            rows = (
                await db.execute(
                    select(outbox).where(outbox.c.sent_at.is_(None)).order_by(outbox.c.seq).limit(BATCH)
                )
            ).all()
        AGE.labels(self._service).set((now() - rows[0].created_at).total_seconds() if rows else 0)
        if not rows:
            return 0
        spans = [begun_span(f"publish {row.type}", row.traceparent, SpanKind.PRODUCER) for row in rows]
        try:
            await self._bus.publish([(subject(row.type), row.id, encode_row(row)) for row in rows])
        finally:
            for span in spans:
                span.end()
        async with self._db.transaction() as tx:
            await tx.execute(
                update(outbox).where(outbox.c.seq.in_([row.seq for row in rows])).values(sent_at=now())
            )
        SENT.labels(self._service).inc(len(rows))
        return len(rows)

    async def _rewind_if_lost(self) -> None:
        """Send everything that is kept once more if the stream is not the one it was sent to."""
        created = str(await self._bus.ensure_stream(self._service))
        async with self._db.read() as db:
            known = (
                await db.execute(
                    select(self._state.c.created).where(self._state.c.stream == stream_of(self._service))
                )
            ).scalar()
        if known == created:
            return
        async with self._db.transaction() as tx:
            if known is not None:
                log.warning("stream was lost, sending its events again", stream=stream_of(self._service))
                await tx.execute(update(self._outbox).values(sent_at=None))
            await tx.execute(
                insert(tx, self._state)
                .values(stream=stream_of(self._service), created=created)
                .on_conflict_do_update(index_elements=["stream"], set_={"created": created})
            )

    async def _forget_old(self) -> None:
        async with self._db.transaction() as tx:
            await tx.execute(delete(self._outbox).where(self._outbox.c.sent_at < now() - KEEP))


async def unsent(database: Database) -> int:
    """How many events wait for the relay."""
    outbox = database.metadata.tables["outbox"]
    async with database.read() as db:
        counted = await db.execute(select(func.count()).where(outbox.c.sent_at.is_(None)))
        return int(counted.scalar_one())
