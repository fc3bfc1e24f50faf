"""Consumers: one pull loop per emitting service. Each event is applied in one transaction with its inbox row.

So an event that is delivered twice takes effect once. A handler only writes rows; slow work is a job. Events
that arrive together are applied in one transaction, since a commit costs as much as several events. A handler
may take many events at once (``Together``). If one of them fails, each is applied alone.

A failed event is retried, and the later events of its key wait behind it, in order (``backlog``). After
``GIVE_UP`` failures it is dead-lettered: it stays in the inbox with its error, and a metric counts it.
``replay`` applies it later.

JetStream numbers deliveries to all processes together. A gap in the numbers means that another process got
some events. That process has lost the lock, or will lose it soon. Unacknowledged events are then applied
first.

A tombstone stands for an event that its emitter could not send. It is counted and skipped.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
import nats.errors
import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from opentelemetry.trace import SpanKind
from prometheus_client import Counter
from sqlalchemy import String, Table, bindparam, delete, select, true, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import each_of
from ingot_chassis.db.database import Database, ExclusiveLock
from ingot_chassis.db.driver import is_outage
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.backlog import Backlog, Delivery
from ingot_chassis.events.bus import FETCH_SECONDS, Bus
from ingot_chassis.events.envelope import Envelope, decode_envelope, decode_event, event_type, subject
from ingot_chassis.events.relay import KEEP
from ingot_chassis.jobs.loops import Loop
from ingot_chassis.telemetry import are_spans_recorded, continue_span

log = structlog.get_logger()

Handler = Callable[[Tx, Any, Envelope], Awaitable[None]]
"""A function ``(tx, event, envelope)`` that writes the effects of ``event``."""


class Together(NamedTuple):
    """A handler of several consecutive events, in order: ``apply(tx, [(event, envelope), …])``.

    Events of types with the same ``apply`` are passed to it together.
    """

    apply: Callable[[Tx, Sequence[tuple[Any, Envelope]]], Awaitable[None]]


Subscriptions = Mapping[type[msgspec.Struct], Handler | Together]


def combine(*subscriptions: Mapping[type[msgspec.Struct], Handler]) -> Mapping[type[msgspec.Struct], Handler]:
    """Return one handler for each event. It calls the handlers of all ``subscriptions`` in order."""
    handlers = defaultdict[type[msgspec.Struct], list[Handler]](list)
    for subscription in subscriptions:
        for event, handler in subscription.items():
            handlers[event].append(handler)
    return {event: _in_order(several) for event, several in handlers.items()}


def _in_order(handlers: Sequence[Handler]) -> Handler:
    async def handle(tx: Tx, event: Any, envelope: Envelope) -> None:
        for handler in handlers:
            await handler(tx, event, envelope)

    return handle


BATCH = 100
TOGETHER = 25
"""Events per transaction. Requests wait for the locks of this transaction."""
LONGEST_WAIT = 0.1
"""Seconds to wait for a lock while the transaction holds the locks of other events."""
TURN_SECONDS = 0.05
"""The shortest time between two fetches.

Under load more events arrive together; a single event does not wait.
"""
HOLD_SECONDS = 5.0
"""Seconds for which a process holds the lock of a consumer while events arrive.

Then other processes may take it.
"""
GIVE_UP = 50
"""Failures after which an event is dead-lettered: about seven minutes with the pauses in between."""
STANDBY_SECONDS = 1.0
SHORTEST_FETCH = 0.1

APPLIED = Counter("ingot_inbox_applied_total", "Events applied", ["service", "type"])
TOMBSTONES = Counter(
    "ingot_inbox_tombstones_total", "Events missed: their emitter could not send them", ["service", "type"]
)
DEAD_LETTERED = Counter(
    "ingot_inbox_dead_lettered_total", "Events given up and dead-lettered", ["service", "type"]
)
FORMER_NAME = Counter(
    "ingot_inbox_set_aside_total",
    "The former name of ingot_inbox_dead_lettered_total, for one release",
    ["service", "type"],
)


_SHARED = ("consumer", "received_at", "error", "envelope")
"""Columns whose value is equal for all events that are received together."""


class NewRow(TypedRow):
    """The id of an event that was not recorded before."""

    event_id: str


@cache
def _receive(inbox: Table) -> PreparedWrite:
    """Return the statement that records events as applied. It returns the ids of new events."""
    shared = [bindparam(name, type_=inbox.c[name].type) for name in _SHARED]
    ids = each_of("event_ids", String()).table_valued("value")
    rows = select(ids.c.value, *(value.label(value.key) for value in shared)).where(true())
    insertion = postgresql.insert(inbox).from_select(["event_id", *_SHARED], rows)
    return PreparedWrite(insertion.on_conflict_do_nothing().returning(inbox.c.event_id))


class _Feed:
    """Deliveries of one emitter to this process. ``delivered`` is the number of the last delivery."""

    def __init__(self, subscription: JetStreamContext.PullSubscription) -> None:
        self.subscription, self.backlog, self.delivered = subscription, Backlog(), 0

    def has_gap_before(self, messages: list[Msg]) -> bool:
        """Return whether another process got events since the last delivery, or between these messages."""
        before = self.delivered
        numbers = [message.metadata.sequence.consumer for message in messages]
        self.delivered = max([before, *numbers])
        return numbers != list(range(before + 1, before + 1 + len(numbers)))


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
        self._receive = _receive(self._inbox)
        self._handlers = {event_type(cls): (cls, handler) for cls, handler in subscriptions.items()}
        self._emitters: dict[str, list[str]] = defaultdict(list)
        for type_ in self._handlers:
            self._emitters[type_.split(".", 1)[0]].append(subject(type_))

    def loops(self) -> list[tuple[str, Loop]]:
        """Return one loop per emitting service, for ``loops.running``."""

        def consuming(emitter: str) -> Loop:
            return lambda: self.consume(emitter)

        return [(f"{self._service} consumes {emitter}", consuming(emitter)) for emitter in self._emitters]

    async def consume(self, emitter: str) -> None:
        """Fetch and apply events until an error.

        The supervisor then restarts this loop with a new subscription. Only one process applies events at a
        time, because two processes could reorder the events of a key. A silent subscription is checked,
        because nats-server forgets consumers when it loses its data folder.
        """
        subscription = await self._bus.ensure_consumer(
            consumer=self._service, emitter=emitter, subjects=self._emitters[emitter]
        )
        feed = _Feed(subscription)
        mine_before = False
        try:
            while True:
                async with self._db.exclusive(f"consume {emitter}") as mine:
                    if mine and not mine_before:
                        await self._apply_unacknowledged(feed)
                    applied_any = await self._apply_until_quiet(feed, mine)
                    mine_before = bool(mine)
                if not mine_before:
                    feed.backlog.clear()
                    await asyncio.sleep(STANDBY_SECONDS)
                elif not (applied_any and self._bus.is_connected):
                    await self._bus.connect()
                    await subscription.consumer_info()
        finally:
            if self._bus.is_connected:
                await subscription.unsubscribe()

    async def _apply_unacknowledged(self, feed: _Feed) -> None:
        """Apply unacknowledged events of other processes before newer events.

        JetStream redelivers them later, when the inbox already has them. If the other process is still
        applying them, the inbox makes this process wait until the other process commits.
        """
        info = await feed.subscription.consumer_info()
        async with aclosing(self._bus.unacknowledged(info, batch=BATCH)) as batches:
            async for messages in batches:
                await self._apply_batch(messages, feed.backlog)
        feed.delivered = info.delivered.consumer_seq if info.delivered else 0

    async def _apply_until_quiet(self, feed: _Feed, mine: ExclusiveLock) -> bool:
        """Apply events until none arrive, the lock is lost, or other processes should get the lock.

        Return whether any event arrived.
        """
        until, came, backlog = time.monotonic() + HOLD_SECONDS, False, feed.backlog
        while mine and (turn := time.monotonic()) < until:
            if backlog:
                await self._retry(backlog)
            messages = await self._fetch(feed.subscription, self._fetch_seconds(backlog))
            if not mine or not (messages or backlog):
                break
            came = came or bool(messages)
            if feed.has_gap_before(messages):
                await self._apply_unacknowledged(feed)
            await self._apply_batch(messages, backlog)
            await asyncio.sleep(turn + TURN_SECONDS - time.monotonic())
        return came

    def _fetch_seconds(self, backlog: Backlog) -> float:
        """Return the seconds to wait for messages.

        They are fewer while messages in the backlog must be extended.
        """
        if not backlog:
            return FETCH_SECONDS
        return max(min(self._bus.ack_wait / 3, backlog.seconds_until_due()), SHORTEST_FETCH)

    async def _retry(self, backlog: Backlog) -> None:
        """Apply due events of the backlog, and extend the others so they are not redelivered."""
        for key in backlog.due_keys():
            while (delivery := backlog.first(key)) is not None:
                if not await self._apply_or_give_up(delivery.envelope, backlog):
                    break
                await delivery.message.ack()
                backlog.remove_first(key)
        await backlog.extend(every=self._bus.ack_wait / 3)

    async def _fetch(self, subscription: JetStreamContext.PullSubscription, seconds: float) -> list[Msg]:
        try:
            return await subscription.fetch(BATCH, timeout=seconds)
        except (TimeoutError, nats.errors.TimeoutError):
            return []

    async def _apply_batch(self, messages: list[Msg], backlog: Backlog) -> None:
        for start in range(0, len(messages), TOGETHER):
            some = messages[start : start + TOGETHER]
            if backlog or len(some) == 1 or not await self._apply_together(some):
                for message in some:
                    await self._apply_in_order(message, backlog)

    async def _apply_together(self, messages: list[Msg]) -> bool:
        """Apply all ``messages`` in one transaction, or none. Return whether they were applied."""
        try:
            envelopes = [decode_envelope(message.data) for message in messages]
            relevant = [envelope for envelope in envelopes if self._concerns(envelope)]
            async with self._db.transaction() as tx:
                await tx.limit_lock_wait(LONGEST_WAIT)
                new = await self._new_among(tx, relevant)
                await self._handle(tx, new)
        except Exception as error:  # noqa: BLE001 - each is then applied alone, which shows the error of each
            log.debug("events not applied together", events=len(messages), error=repr(error))
            return False
        for envelope in new:
            APPLIED.labels(self._service, envelope.type).inc()
        for message in messages:
            await message.ack()
        return True

    async def _apply_in_order(self, message: Msg, backlog: Backlog) -> None:
        """Apply ``message``, or append it to the backlog if an earlier event of its key waits there."""
        try:
            envelope = decode_envelope(message.data)
        except msgspec.DecodeError as error:
            log.warning("not an event, dropped", subject=message.subject, error=str(error))
            await message.term()
            return
        is_first = envelope.key not in backlog
        backlog.append(Delivery(message, envelope))
        if is_first and await self._apply_or_give_up(envelope, backlog):
            await message.ack()
            backlog.remove_first(envelope.key)

    async def _apply_or_give_up(self, envelope: Envelope, backlog: Backlog) -> bool:
        """Apply the first event of its key, or dead-letter it after too many failures.

        Return False if the event must be retried.
        """
        try:
            await self.apply(envelope)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is this event's failure
            is_its_fault = not is_outage(error)
            backlog.postpone(envelope.key, counts=is_its_fault)
            failures = backlog.failures(envelope.key)
            log.warning(
                "event not applied", type=envelope.type, id=envelope.id, times=failures, error=repr(error)
            )
            if failures < self._give_up or not is_its_fault:
                return False
            await self._dead_letter(envelope, repr(error))
        return True

    async def apply(self, envelope: Envelope, *, dead_lettered: bool = False) -> bool:
        """Apply one event unless it is in the inbox. Return whether it was applied now.

        ``dead_lettered``: apply it only if it was dead-lettered. Raises the errors of the handler.
        """
        if not self._concerns(envelope):
            return False
        async with self._db.transaction() as tx:
            if dead_lettered and not await self._mark_applied(tx, envelope.id):
                return False
            if not dead_lettered and not await self._new_among(tx, [envelope]):
                return False
            await self._handle(tx, [envelope])
        APPLIED.labels(self._service, envelope.type).inc()
        return True

    def _concerns(self, envelope: Envelope) -> bool:
        """Return whether this service applies the event. Count a tombstone."""
        if envelope.type not in self._handlers:
            return False
        if envelope.is_tombstone:
            TOMBSTONES.labels(self._service, envelope.type).inc()
            log.error("event missed: its emitter could not send it", type=envelope.type, id=envelope.id)
        return not envelope.is_tombstone

    async def _handle(self, tx: Tx, envelopes: Sequence[Envelope]) -> None:
        for handler, run in groupby(envelopes, lambda envelope: self._handlers[envelope.type][1]):
            if isinstance(handler, Together) and not are_spans_recorded():
                await handler.apply(tx, [(self._decode(envelope), envelope) for envelope in run])
                continue
            for envelope in run:
                with continue_span(f"consume {envelope.type}", envelope.traceparent, SpanKind.CONSUMER):
                    event = self._decode(envelope)
                    if isinstance(
                        handler, Together
                    ):  # a statement for many events would be in the trace of only one of them
                        await handler.apply(tx, [(event, envelope)])
                    else:
                        await handler(tx, event, envelope)

    def _decode(self, envelope: Envelope) -> Any:
        return decode_event(envelope, self._handlers[envelope.type][0])

    async def _new_among(self, tx: Tx, envelopes: list[Envelope], **columns: Any) -> list[Envelope]:
        """Record all events as applied. Return the new events, in order."""
        values = {"consumer": self._service, "received_at": now(), "error": None, "envelope": None, **columns}
        by_id = {envelope.id: envelope for envelope in envelopes}
        if not by_id:
            return []
        new = {row.event_id for row in await self._receive.all(tx, NewRow, **values, event_ids=list(by_id))}
        return [envelope for id_, envelope in by_id.items() if id_ in new]

    async def _mark_applied(self, tx: Tx, event_id: str) -> bool:
        """Mark a dead-lettered event as applied. Return whether it was dead-lettered."""
        mine = (self._inbox.c.consumer == self._service) & (self._inbox.c.event_id == event_id)
        statement = update(self._inbox).where(mine, self._inbox.c.error.is_not(None))
        return (await tx.execute(statement.values(error=None, envelope=None))).rowcount == 1

    async def _dead_letter(self, envelope: Envelope, error: str) -> None:
        async with self._db.transaction() as tx:
            await self._new_among(tx, [envelope], error=error, envelope=msgspec.json.encode(envelope))
        for counter in (DEAD_LETTERED, FORMER_NAME):
            counter.labels(self._service, envelope.type).inc()
        log.error("event dead-lettered", type=envelope.type, id=envelope.id, error=error)

    async def forget_old(self) -> None:
        """Delete inbox rows that no redelivery can match: a week older than the oldest event that is kept.

        Rows with an error stay.
        """
        async with self._db.transaction() as tx:
            await tx.execute(
                delete(self._inbox).where(
                    self._inbox.c.received_at < now() - KEEP - timedelta(days=7),
                    self._inbox.c.error.is_(None),
                )
            )
