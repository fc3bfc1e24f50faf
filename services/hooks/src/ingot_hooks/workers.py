"""Delivering: claim due rows, send each once, record what came of it; and dropping old history.

The lease outlives the time that an attempt may take, so it needs no renewal: a row whose lease has passed
belongs to a dead worker, and is sent again under the same id.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import timedelta

import msgspec
import structlog
from prometheus_client import Counter

from ingot_chassis.database import Database, Tx
from ingot_chassis.tables import now
from ingot_chassis.telemetry import continued_span
from ingot_hooks.bell import Bell
from ingot_hooks.clients.endpoints import Endpoints, Reply
from ingot_hooks.core import health
from ingot_hooks.core.schedule import Verdict, judge
from ingot_hooks.core.sealing import Seal, Unreadable
from ingot_hooks.core.signing import Message, post
from ingot_hooks.settings import Settings
from ingot_hooks.store import deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.deliveries import DeliveryRow
from ingot_hooks.store.hooks import HookRow

log = structlog.get_logger()

LEASE_MARGIN = timedelta(seconds=30)
DROP_BATCH = 1000
DROP_EVERY = 3600.0

ATTEMPTS = Counter("ingot_hook_attempts_total", "Attempts to deliver, by what became of them", ["outcome"])


class Deliverer:
    """Sends what is due, as many at once as the settings say."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        endpoints: Endpoints,
        seal: Seal,
        bell: Bell,
        *,
        jitter: Callable[[], float] = lambda: random.uniform(-1, 1),  # noqa: S311 - spreads load, hides nothing
    ) -> None:
        self._db, self._settings, self._endpoints, self._seal = database, settings, endpoints, seal
        self._bell, self._jitter = bell, jitter
        self._lease = timedelta(seconds=settings.delivery_seconds) + LEASE_MARGIN
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Deliver until cancelled; what is under way then is handed back."""
        try:
            while True:
                if not await self._start_due():
                    await self._bell.wait()
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def step(self) -> int:
        """Deliver all that is due now and return when it is done; how many attempts that were."""
        count = 0
        while started := await self._start_due():
            count += started
            await asyncio.gather(*self._under_way)
        return count

    async def _start_due(self) -> int:
        claimed = await self._claim(self._settings.delivery_workers - len(self._under_way))
        for row in claimed:
            task = asyncio.create_task(self._attempt(row))
            self._under_way.add(task)
            task.add_done_callback(self._ended)
        return len(claimed)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery not recorded, its lease will end", error=repr(error))
        self._bell.ring()

    async def _claim(self, limit: int) -> list[DeliveryRow]:
        if limit <= 0:
            return []
        per_endpoint = self._settings.endpoint_concurrency
        async with self._db.read() as db:
            if not await deliveries.any_to_claim(db, per_endpoint):
                return []
        async with self._db.transaction() as tx:
            return await deliveries.claim(tx, limit, lease=self._lease, per_endpoint=per_endpoint)

    async def _attempt(self, row: DeliveryRow) -> None:
        with continued_span(f"deliver {row.event}", row.traceparent):
            async with self._db.read() as db:
                hook = await store.get_for_delivery(db, row.hook_id)
            if hook is None or not (hook.active or row.manual):
                await self._cancel(row, "the hook is gone" if hook is None else "the hook is switched off")
                return
            try:
                reply = await self._send(hook, row)
            except asyncio.CancelledError:
                await self._hand_back(row)
                raise
            await self._record(hook, row, reply)

    async def _send(self, hook: HookRow, row: DeliveryRow) -> Reply:
        try:
            secret = self._seal.open(hook.sealed_secret)
        except Unreadable as error:
            return Reply(error=str(error))
        message = Message(id=row.id, event=row.event, sequence=row.sequence, text=row.body)
        request = post(message, content_type=hook.content_type, secret=secret, at=now())
        return await self._endpoints.post(hook.url, request.headers, request.body)

    async def _record(self, hook: HookRow, row: DeliveryRow, reply: Reply) -> None:
        retry_after = next((v for k, v in reply.headers.items() if k.lower() == "retry-after"), "")
        verdict = judge(reply.status, retry_after, attempts=row.attempts, at=now(), jitter=self._jitter())
        error = "" if verdict.state == "delivered" else reply.error or f"answered {reply.status}"
        ended = None if verdict.state == "pending" else now()
        async with self._db.transaction() as tx:
            held = await deliveries.record(
                tx,
                row,
                state=verdict.state,
                next_attempt_at=verdict.again_at or row.next_attempt_at,
                status=reply.status,
                response_headers=msgspec.json.encode(dict(reply.headers)).decode(),
                response_body=reply.body,
                error=error,
                finished_at=ended,
            )
            if held:
                await self._note_health(tx, hook, verdict, error)
        ATTEMPTS.labels(verdict.state if held else "lease_lost").inc()
        log.info(
            "delivery",
            id=row.id,
            hook=hook.id,
            attempt=row.attempts,
            status=reply.status,
            error=error or None,
        )

    async def _note_health(self, tx: Tx, hook: HookRow, verdict: Verdict, error: str) -> None:
        if verdict.state == "delivered":
            if hook.failing_since is not None:
                await store.mark_healthy(tx, hook.id)
            return
        await store.mark_failing(tx, hook.id)
        reason = health.reason_to_switch_off(
            verdict,
            error,
            failing_since=hook.failing_since,
            at=now(),
            limit=timedelta(days=self._settings.failing_days),
        )
        if reason and hook.active:
            await store.switch_off(tx, hook.id, reason)
            await deliveries.cancel_pending(tx, [hook.id], f"the hook was switched off: {reason}")

    async def _cancel(self, row: DeliveryRow, reason: str) -> None:
        async with self._db.transaction() as tx:
            await deliveries.record(tx, row, state="cancelled", error=reason, finished_at=now())
        ATTEMPTS.labels("cancelled").inc()

    async def _hand_back(self, row: DeliveryRow) -> None:
        """The process ends before the answer is known: somebody else asks again, as the same attempt."""
        async with self._db.transaction() as tx:
            await deliveries.record(
                tx,
                row,
                state="pending",
                attempts=row.attempts - 1,
                error="interrupted",
                next_attempt_at=now(),
            )


class Retention:
    """Drops ended deliveries by age, in small batches."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db, self._age = database, timedelta(days=settings.retention_days)

    async def run(self) -> None:
        while True:
            await self.step()
            await asyncio.sleep(DROP_EVERY)

    async def step(self) -> int:
        """Drop all that is too old; how many deliveries that were. One process does it at a time."""
        count = 0
        async with self._db.exclusive("hooks retention") as mine:
            while mine:
                async with self._db.transaction() as tx:
                    dropped = await deliveries.drop_older(tx, now() - self._age, DROP_BATCH)
                count += dropped
                if dropped < DROP_BATCH:
                    break
        return count
