"""Consumers: one pull loop per emitting service, each event applied in one transaction with its inbox row.

So an event that arrives twice takes effect once. A handler only writes rows; slow work is a job. An event
that cannot be applied is tried again and holds back the later events of its key; after ``GIVE_UP``
failures it is put aside in the inbox, with its error, and a metric says so; ``replay`` applies it later.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec
import nats.errors
import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from opentelemetry.trace import SpanKind
from prometheus_client import Counter
from sqlalchemy import delete, update

from ingot_chassis.bus import FETCH_SECONDS, Bus
from ingot_chassis.database import Database, Tx, insert
from ingot_chassis.events import Envelope, decode_envelope, decode_event, event_type, subject
from ingot_chassis.loops import Loop
from ingot_chassis.outbox import KEEP
from ingot_chassis.tables import now
from ingot_chassis.telemetry import continued_span

log = structlog.get_logger()

Handler = Callable[[Tx, Any, Envelope], Awaitable[None]]
"""``(tx, event, envelope)``: write what follows from ``event``."""

Subscriptions = Mapping[type[msgspec.Struct], Handler]

BATCH = 100
GIVE_UP = 20
LONGEST_PAUSE = 30.0
QUIET_FETCHES = 6
STANDBY_SECONDS = 1.0
BEHIND_SECONDS = 0.05
FORGET_EVERY = 3600

APPLIED = Counter("ingot_inbox_applied_total", "Events applied", ["service", "type"])
ASIDE = Counter("ingot_inbox_set_aside_total", "Events given up and put aside", ["service", "type"])


class _Failing(NamedTuple):
    """The event of a key that failed: its number, how often it did, and when it comes again (monotonic time)."""

    seq: int
    times: int
    due: float


class Consumers:
    """The subscriptions of ``service``."""

    def __init__(
        self,
        service: str,
        database: Database,
        bus: Bus,
        subscriptions: Subscriptions,
        *,
        give_up: int = GIVE_UP,
    ) -> None:
        self._service, self._db, self._bus, self._give_up = service, database, bus, give_up
        self._inbox = database.metadata.tables["inbox"]
        self._handlers = {event_type(cls): (cls, handler) for cls, handler in subscriptions.items()}
        self._emitters: dict[str, list[str]] = defaultdict(list)
        for type_ in self._handlers:
            self._emitters[type_.split(".", 1)[0]].append(subject(type_))

    def loops(self) -> list[tuple[str, Loop]]:
        """One loop per emitting service, for ``loops.running``."""

        def consuming(emitter: str) -> Loop:
            return lambda: self.consume(emitter)

        loops = [(f"{self._service} consumes {emitter}", consuming(emitter)) for emitter in self._emitters]
        return [*loops, (f"{self._service} forgets", self._forget)]

    async def consume(self, emitter: str) -> None:
        """Pull and apply until something fails; the supervisor starts it again with a new subscription.

        One replica at a time, for two could overtake each other within a key. A subscription that stays
        silent is checked: nats-server forgets consumers with its data folder.
        """
        subscription = await self._bus.ensure_consumer(
            consumer=self._service, emitter=emitter, subjects=self._emitters[emitter]
        )
        failing: dict[str, _Failing] = {}
        quiet, mine_before = 0, False
        try:
            while True:
                async with self._db.exclusive(f"consume {emitter}") as mine:
                    if mine and not mine_before:
                        await self._await_what_was_left(subscription)
                    messages = await self._fetched(subscription) if mine else []
                    for message in messages:
                        await self._apply_in_order(message, failing)
                mine_before = mine
                if not mine:
                    failing.clear()
                    await asyncio.sleep(STANDBY_SECONDS)
                quiet = 0 if messages else quiet + 1
                if quiet >= QUIET_FETCHES or not self._bus.is_connected:
                    await self._bus.connect()
                    await subscription.consumer_info()
                    quiet = 0
        finally:
            if self._bus.is_connected:
                await subscription.unsubscribe()

    async def _await_what_was_left(self, subscription: JetStreamContext.PullSubscription) -> None:
        """Let what a predecessor took and did not acknowledge come back first: newer events would overtake it."""
        if (await subscription.consumer_info()).num_ack_pending:
            await asyncio.sleep(self._bus.ack_wait)

    async def _fetched(self, subscription: JetStreamContext.PullSubscription) -> list[Msg]:
        try:
            return await subscription.fetch(BATCH, timeout=FETCH_SECONDS)
        except (TimeoutError, nats.errors.TimeoutError):
            return []

    async def _apply_in_order(self, message: Msg, failing: dict[str, _Failing]) -> None:
        """Apply ``message`` unless an earlier event of its key is still to come again; then it comes after that."""
        try:
            envelope = decode_envelope(message.data)
        except msgspec.DecodeError as error:
            log.warning("not an event, dropped", subject=message.subject, error=str(error))
            await message.term()
            return
        before = failing.get(envelope.key)
        if before is not None and before.seq < envelope.seq:
            await message.nak(delay=max(before.due - time.monotonic(), 0) + BEHIND_SECONDS)
            return
        try:
            await self.apply(envelope)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is this event's failure
            times = before.times + 1 if before is not None and before.seq == envelope.seq else 1
            log.warning(
                "event not applied", type=envelope.type, id=envelope.id, times=times, error=repr(error)
            )
            if times < self._give_up:
                pause = min(0.1 * float(2**times), LONGEST_PAUSE)
                failing[envelope.key] = _Failing(envelope.seq, times, time.monotonic() + pause)
                await message.nak(delay=pause)
                return
            await self._set_aside(envelope, repr(error))
        failing.pop(envelope.key, None)
        await message.ack()

    async def apply(self, envelope: Envelope, *, put_aside: bool = False) -> bool:
        """Apply one event unless it has been; whether it was applied now. ``put_aside``: only one that was."""
        known = self._handlers.get(envelope.type)
        if known is None:
            return False
        cls, handler = known
        with continued_span(f"consume {envelope.type}", envelope.traceparent, SpanKind.CONSUMER):
            async with self._db.transaction() as tx:
                if not await (self._is_back if put_aside else self._is_new)(tx, envelope.id):
                    return False
                await handler(tx, decode_event(envelope, cls), envelope)
        APPLIED.labels(self._service, envelope.type).inc()
        return True

    async def _is_new(self, tx: Tx, event_id: str, **more: Any) -> bool:
        row = {"consumer": self._service, "event_id": event_id, "received_at": now(), **more}
        inserted = await tx.execute(insert(tx, self._inbox).values(row).on_conflict_do_nothing())
        return inserted.rowcount == 1

    async def _is_back(self, tx: Tx, event_id: str) -> bool:
        mine = (self._inbox.c.consumer == self._service) & (self._inbox.c.event_id == event_id)
        statement = update(self._inbox).where(mine, self._inbox.c.error.is_not(None))
        return (await tx.execute(statement.values(error=None, envelope=None))).rowcount == 1

    async def _set_aside(self, envelope: Envelope, error: str) -> None:
        async with self._db.transaction() as tx:
            await self._is_new(tx, envelope.id, error=error, envelope=msgspec.json.encode(envelope))
        ASIDE.labels(self._service, envelope.type).inc()
        log.error("event put aside", type=envelope.type, id=envelope.id, error=error)

    async def _forget(self) -> None:
        """Drop inbox rows that no copy can refer to any more: twice as old as the oldest kept event."""
        while True:
            async with self._db.transaction() as tx:
                await tx.execute(
                    delete(self._inbox).where(
                        self._inbox.c.received_at < now() - KEEP - timedelta(days=7),
                        self._inbox.c.error.is_(None),
                    )
                )
            await asyncio.sleep(FORGET_EVERY)
