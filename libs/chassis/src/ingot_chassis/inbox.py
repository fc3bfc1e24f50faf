"""Consumers: one pull loop per emitting service, each event applied in one transaction with its inbox row.

So an event that arrives twice takes effect once. A handler only writes rows; slow work is a job. What arrives
together is applied together, for a commit costs as much as several events; if one of them fails, each is applied
alone. An event that cannot be applied is tried again and holds back the later events of its key; after ``GIVE_UP``
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
from sqlalchemy import bindparam, delete, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.bus import FETCH_SECONDS, Bus
from ingot_chassis.change import Change
from ingot_chassis.database import Database, Tx
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
TOGETHER = 25
"""How many events one transaction may apply: what they lock, requests wait for."""
LONGEST_WAIT = 0.1
"""For a lock, while the transaction holds those of other events."""
TURN_SECONDS = 0.05
"""The shortest time between two fetches: under load more events arrive together, and a lone one waits for nothing."""
HOLD_SECONDS = 5.0
"""How long one holds the lock of a consumer while events come, without asking whether it is still held."""
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
        columns = ("consumer", "event_id", "received_at", "error", "envelope")
        self._receive = Change(
            postgresql.insert(self._inbox)
            .values({name: bindparam(name) for name in columns})
            .on_conflict_do_nothing()
        )
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
                    came = mine and await self._apply_what_comes(subscription, failing)
                mine_before = mine
                if not mine:
                    failing.clear()
                    await asyncio.sleep(STANDBY_SECONDS)
                quiet = 0 if came else quiet + 1
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

    async def _apply_what_comes(
        self, subscription: JetStreamContext.PullSubscription, failing: dict[str, _Failing]
    ) -> bool:
        """Apply until nothing came for a while, or the lock should be looked at again; whether anything came."""
        until, came = time.monotonic() + HOLD_SECONDS, False
        while (turn := time.monotonic()) < until:
            messages = await self._fetched(subscription)
            if not messages:
                break
            came = True
            await self._apply_fetched(messages, failing)
            await asyncio.sleep(turn + TURN_SECONDS - time.monotonic())
        return came

    async def _fetched(self, subscription: JetStreamContext.PullSubscription) -> list[Msg]:
        try:
            return await subscription.fetch(BATCH, timeout=FETCH_SECONDS)
        except (TimeoutError, nats.errors.TimeoutError):
            return []

    async def _apply_fetched(self, messages: list[Msg], failing: dict[str, _Failing]) -> None:
        for start in range(0, len(messages), TOGETHER):
            some = messages[start : start + TOGETHER]
            if failing or len(some) == 1 or not await self._applied_together(some):
                for message in some:
                    await self._apply_in_order(message, failing)

    async def _applied_together(self, messages: list[Msg]) -> bool:
        """Apply all ``messages`` or none of them; whether it was all."""
        try:
            envelopes = [decode_envelope(message.data) for message in messages]
            known = [envelope for envelope in envelopes if envelope.type in self._handlers]
            async with self._db.transaction() as tx:
                await tx.wait_at_most(LONGEST_WAIT)
                new = await self._new_among(tx, known)
                for envelope in new:
                    await self._handle(tx, envelope)
        except Exception as error:  # noqa: BLE001 - which of them failed, and how, shows when each is applied alone
            log.debug("events not applied together", events=len(messages), error=repr(error))
            return False
        for envelope in new:
            APPLIED.labels(self._service, envelope.type).inc()
        for message in messages:
            await message.ack()
        return True

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
        if envelope.type not in self._handlers:
            return False
        async with self._db.transaction() as tx:
            if put_aside and not await self._is_back(tx, envelope.id):
                return False
            if not put_aside and not await self._new_among(tx, [envelope]):
                return False
            await self._handle(tx, envelope)
        APPLIED.labels(self._service, envelope.type).inc()
        return True

    async def _handle(self, tx: Tx, envelope: Envelope) -> None:
        cls, handler = self._handlers[envelope.type]
        with continued_span(f"consume {envelope.type}", envelope.traceparent, SpanKind.CONSUMER):
            await handler(tx, decode_event(envelope, cls), envelope)

    async def _new_among(self, tx: Tx, envelopes: list[Envelope], **more: Any) -> list[Envelope]:
        """Those that were not applied before, in their order; from now on all of them were."""
        received = {"consumer": self._service, "received_at": now(), "error": None, "envelope": None, **more}
        once = {envelope.id: envelope for envelope in envelopes}
        return [
            envelope
            for id_, envelope in once.items()
            if await self._receive.run(tx, **received, event_id=id_) == 1
        ]

    async def _is_back(self, tx: Tx, event_id: str) -> bool:
        mine = (self._inbox.c.consumer == self._service) & (self._inbox.c.event_id == event_id)
        statement = update(self._inbox).where(mine, self._inbox.c.error.is_not(None))
        return (await tx.execute(statement.values(error=None, envelope=None))).rowcount == 1

    async def _set_aside(self, envelope: Envelope, error: str) -> None:
        async with self._db.transaction() as tx:
            await self._new_among(tx, [envelope], error=error, envelope=msgspec.json.encode(envelope))
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
