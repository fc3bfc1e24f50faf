"""Consumers: one pull loop per emitting service, each event applied in one transaction with its inbox row.

So an event that arrives twice takes effect once. A handler only writes rows; slow work is a job. What arrives
together is applied together, for a commit costs as much as several events, and a handler that can takes many events at
once (``Together``); if one of them fails, each is applied alone. An event that cannot be applied is tried again, and the later events of its key wait behind it, in order
(``backlog``); after ``GIVE_UP`` failures it is dead-lettered: kept in the inbox, with its error, and a metric says so; ``replay`` applies it later.

JetStream numbers what it delivers for all processes together. A gap in the numbers says that another process got some
of it, one that has lost the lock or is about to: what nobody has acknowledged is applied first.

A tombstone stands for an event that its emitter could not send: it is counted and passed over.
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
"""``(tx, event, envelope)``: write what follows from ``event``."""


class Together(NamedTuple):
    """A handler of events that follow one another, in order: ``apply(tx, [(event, envelope), …])``.

    Types with the same ``apply`` are handed over together.
    """

    apply: Callable[[Tx, Sequence[tuple[Any, Envelope]]], Awaitable[None]]


Subscriptions = Mapping[type[msgspec.Struct], Handler | Together]

BATCH = 100
TOGETHER = 25
"""How many events one transaction may apply: what they lock, requests wait for."""
LONGEST_WAIT = 0.1
"""For a lock, while the transaction holds those of other events."""
TURN_SECONDS = 0.05
"""The shortest time between two fetches: under load more events arrive together, and a lone one waits for nothing."""
HOLD_SECONDS = 5.0
"""How long one holds the lock of a consumer while events come, before others have their turn."""
GIVE_UP = 50
"""Failures of one event; with the pauses in between they take about seven minutes."""
QUIET_FETCHES = 6
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
"""Columns that are the same for all events that are received together."""


class NewRow(TypedRow):
    """An event that was not recorded before."""

    event_id: str


@cache
def _receive(inbox: Table) -> PreparedWrite:
    """Record events as applied; returns those that were not recorded before."""
    shared = [bindparam(name, type_=inbox.c[name].type) for name in _SHARED]
    ids = each_of("event_ids", String()).table_valued("value")
    rows = select(ids.c.value, *(value.label(value.key) for value in shared)).where(true())
    insertion = postgresql.insert(inbox).from_select(["event_id", *_SHARED], rows)
    return PreparedWrite(insertion.on_conflict_do_nothing().returning(inbox.c.event_id))


class _Feed:
    """What this process gets of one emitter. ``delivered``: the number of the last delivery that it accounts for."""

    def __init__(self, subscription: JetStreamContext.PullSubscription) -> None:
        self.subscription, self.backlog, self.delivered = subscription, Backlog(), 0

    def has_gap_before(self, messages: list[Msg]) -> bool:
        """Whether another process got something since the last delivery, or between these messages."""
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
        """One loop per emitting service, for ``loops.running``."""

        def consuming(emitter: str) -> Loop:
            return lambda: self.consume(emitter)

        return [(f"{self._service} consumes {emitter}", consuming(emitter)) for emitter in self._emitters]

    async def consume(self, emitter: str) -> None:
        """Pull and apply until something fails; the supervisor starts it again with a new subscription.

        One replica at a time, for two could overtake each other within a key. A subscription that stays
        silent is checked: nats-server forgets consumers with its data folder.
        """
        subscription = await self._bus.ensure_consumer(
            consumer=self._service, emitter=emitter, subjects=self._emitters[emitter]
        )
        feed = _Feed(subscription)
        quiet, mine_before = 0, False
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
                quiet = 0 if applied_any else quiet + 1
                if quiet >= QUIET_FETCHES or not self._bus.is_connected:
                    await self._bus.connect()
                    await subscription.consumer_info()
                    quiet = 0
        finally:
            if self._bus.is_connected:
                await subscription.unsubscribe()

    async def _apply_unacknowledged(self, feed: _Feed) -> None:
        """What another process got and did not acknowledge comes first: newer events would overtake it.

        It is delivered again later, too; the inbox knows it then. If that process is still at work on it, the inbox
        makes this one wait until it has committed.
        """
        info = await feed.subscription.consumer_info()
        async with aclosing(self._bus.unacknowledged(info, batch=BATCH)) as batches:
            async for messages in batches:
                await self._apply_batch(messages, feed.backlog)
        feed.delivered = info.delivered.consumer_seq if info.delivered else 0

    async def _apply_until_quiet(self, feed: _Feed, mine: ExclusiveLock) -> bool:
        """Apply until nothing came for a while, the lock is lost, or others should have their turn; whether anything came."""
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
        """How long to wait for messages: shorter while some wait in the backlog, which are extended meanwhile."""
        if not backlog:
            return FETCH_SECONDS
        return max(min(self._bus.ack_wait / 3, backlog.seconds_until_due()), SHORTEST_FETCH)

    async def _retry(self, backlog: Backlog) -> None:
        """Apply what is due, and keep the rest from being redelivered."""
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
        """Apply all ``messages`` or none of them; whether it was all."""
        try:
            envelopes = [decode_envelope(message.data) for message in messages]
            relevant = [envelope for envelope in envelopes if self._concerns(envelope)]
            async with self._db.transaction() as tx:
                await tx.limit_lock_wait(LONGEST_WAIT)
                new = await self._new_among(tx, relevant)
                await self._handle(tx, new)
        except Exception as error:  # noqa: BLE001 - which of them failed, and how, shows when each is applied alone
            log.debug("events not applied together", events=len(messages), error=repr(error))
            return False
        for envelope in new:
            APPLIED.labels(self._service, envelope.type).inc()
        for message in messages:
            await message.ack()
        return True

    async def _apply_in_order(self, message: Msg, backlog: Backlog) -> None:
        """Apply ``message``, unless an earlier event of its key waits; then it waits behind that one."""
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
        """Apply the first event of its key, or dead-letter it after too many failures; False if it has to wait."""
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
        """Apply one event unless it has been; whether it was applied now. ``dead_lettered``: only one that was."""
        if not self._concerns(envelope):
            return False
        async with self._db.transaction() as tx:
            if dead_lettered and not await self._revive(tx, envelope.id):
                return False
            if not dead_lettered and not await self._new_among(tx, [envelope]):
                return False
            await self._handle(tx, [envelope])
        APPLIED.labels(self._service, envelope.type).inc()
        return True

    def _concerns(self, envelope: Envelope) -> bool:
        """Whether there is an event in it that this service applies."""
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
                    ):  # a statement for many would be in the trace of one of them
                        await handler.apply(tx, [(event, envelope)])
                    else:
                        await handler(tx, event, envelope)

    def _decode(self, envelope: Envelope) -> Any:
        return decode_event(envelope, self._handlers[envelope.type][0])

    async def _new_among(self, tx: Tx, envelopes: list[Envelope], **columns: Any) -> list[Envelope]:
        """Record all as applied; return those that were not recorded before, in their order."""
        values = {"consumer": self._service, "received_at": now(), "error": None, "envelope": None, **columns}
        by_id = {envelope.id: envelope for envelope in envelopes}
        if not by_id:
            return []
        new = {row.event_id for row in await self._receive.all(tx, NewRow, **values, event_ids=list(by_id))}
        return [envelope for id_, envelope in by_id.items() if id_ in new]

    async def _revive(self, tx: Tx, event_id: str) -> bool:
        """Make a dead-lettered event one that was applied; whether it was dead-lettered."""
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
        """Delete inbox rows that no copy can refer to any more: twice as old as the oldest event that is kept."""
        async with self._db.transaction() as tx:
            await tx.execute(
                delete(self._inbox).where(
                    self._inbox.c.received_at < now() - KEEP - timedelta(days=7),
                    self._inbox.c.error.is_(None),
                )
            )
