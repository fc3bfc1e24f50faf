"""Delivering: claim due rows, send each once, record what came of it; dropping old history; and telling how it goes.

Rows are claimed in lanes, one per hook and repository, which are sent in order. The lease outlives the time that an
attempt may take, so it needs no renewal: nothing is begun that it might not outlive, and a row whose lease has
passed belongs to a dead worker, and is sent again under the same id.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from weakref import WeakValueDictionary

import msgspec
import structlog
from opentelemetry.trace import SpanKind
from prometheus_client import Gauge

from ingot_chassis.database import Database
from ingot_chassis.errors import ApiError
from ingot_chassis.sealing import Seal, Unreadable
from ingot_chassis.tables import now
from ingot_chassis.telemetry import continued_span
from ingot_hooks.bell import Bell
from ingot_hooks.clients.endpoints import Endpoints, Reply
from ingot_hooks.core.bodies import FORMS, with_transaction
from ingot_hooks.core.health import was_given_up
from ingot_hooks.core.hooks import valid_secrets
from ingot_hooks.core.schedule import judge
from ingot_hooks.core.signing import Message, prepared
from ingot_hooks.recording import Outcome, Recorder, handed_back, unsent
from ingot_hooks.rights import Rights
from ingot_hooks.settings import Settings
from ingot_hooks.store import claims, deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.claims import Claimable
from ingot_hooks.store.deliveries import DeliveryRow
from ingot_hooks.store.hooks import HookRow

log = structlog.get_logger()

BEYOND_ANSWER = timedelta(seconds=5)
"""What an attempt may take beyond the time to answer: the body, and being written down."""
PER_LANE = 16
QUEUED_PER_PLACE = 16
"""Rows that are claimed at once for each delivery that an endpoint may get at a time."""
MOST_CLAIMED = 2000
PACE = 0.04
FRESH_SECONDS = 0.5
UNKNOWN_PAUSE = timedelta(seconds=5)
DROP_BATCH = 1000
DROP_EVERY = 3600.0
MEASURE_EVERY = 15.0

LAG = Gauge("ingot_hook_lag_seconds", "How long the delivery waits that is due for longest")


class Deliverer:
    """Sends what is due, as many at once as the settings say."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        endpoints: Endpoints,
        seal: Seal,
        bell: Bell,
        rights: Rights,
        *,
        jitter: Callable[[], float] = lambda: random.uniform(-1, 1),  # noqa: S311 - spreads load, hides nothing
    ) -> None:
        self._db, self._settings, self._endpoints, self._seal = database, settings, endpoints, seal
        self._bell, self._rights, self._jitter = bell, rights, jitter
        self._needed = timedelta(seconds=settings.delivery_seconds) + BEYOND_ANSWER
        self._lease = 2 * self._needed
        self._places = asyncio.Semaphore(settings.delivery_workers)
        self._places_of_failing = asyncio.Semaphore(max(1, settings.delivery_workers // 2))
        self._gates: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._hooks: dict[int, tuple[HookRow | None, float]] = {}
        self._recorder = Recorder(database, settings)
        self._lanes: set[asyncio.Task[None]] = set()
        self._claimed = self._claimed_by_failing = 0

    async def run(self) -> None:
        """Deliver until cancelled; what is under way then is handed back."""
        try:
            while True:
                if await self._start_due():
                    # What is queued and what ends meanwhile is claimed at once, instead of one by one.
                    await asyncio.sleep(PACE)
                else:
                    await self._bell.wait()
        finally:
            for lane in self._lanes:
                lane.cancel()
            await asyncio.gather(*self._lanes, return_exceptions=True)
            await self._recorder.settled()

    async def step(self) -> int:
        """Deliver all that is due now and return when it is done; how many were claimed for that."""
        count = 0
        while started := await self._start_due():
            count += started
            await asyncio.gather(*self._lanes)
            await self._recorder.settled()
        return count

    async def _start_due(self) -> int:
        claimed = await self._claim(MOST_CLAIMED - self._claimed)
        lanes: dict[tuple[int, int], list[DeliveryRow]] = defaultdict(list)
        for row in claimed:
            lanes[row.hook_id, row.repository_id].append(row)
        for rows in lanes.values():
            task = asyncio.create_task(self._deliver(rows, failing=self._is_failing(rows[0].hook_id)))
            self._lanes.add(task)
            task.add_done_callback(self._ended)
        return len(claimed)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._lanes.discard(task)
        self._bell.ring()

    async def _claim(self, limit: int) -> list[DeliveryRow]:
        if limit <= 0:
            return []
        wanted = Claimable(
            per_endpoint=self._settings.endpoint_concurrency * QUEUED_PER_PLACE,
            of_failing=self._claimed_by_failing < MOST_CLAIMED // 2,
        )
        found = await self._found(limit, wanted)
        if not found:
            return []
        async with self._db.transaction() as tx:
            claimed = await claims.take(tx, found, lease=self._lease)
            hooks = await store.get_many(tx, {row.hook_id for row in claimed})
        read_at = time.monotonic()
        self._hooks = {id_: known for id_, known in self._hooks.items() if self._is_fresh(known)}
        self._hooks |= {row.hook_id: (hooks.get(row.hook_id), read_at) for row in claimed}
        return claimed

    async def _found(self, limit: int, wanted: Claimable) -> list[int]:
        async with self._db.read() as db:
            found = await claims.find(db, limit, wanted, per_lane=PER_LANE)
        if not found.abandoned:
            return found.numbers
        async with self._db.transaction() as tx:
            await claims.release_abandoned(tx)
            return (await claims.find(tx, limit, wanted, per_lane=PER_LANE)).numbers

    def _is_failing(self, hook_id: int) -> bool:
        """Whether the last that was sent to the hook failed: such hooks get a half of everything at most."""
        hook = self._hooks[hook_id][0]
        return hook is not None and hook.failing_since is not None

    async def _deliver(self, lane: list[DeliveryRow], *, failing: bool) -> None:
        """Send a lane in order, at most as long as the leases last; a failure ends its turn."""
        waiting = list(lane)
        pause = timedelta(0)
        gate = self._gates.get(lane[0].endpoint)
        if gate is None:
            gate = self._gates[lane[0].endpoint] = asyncio.Semaphore(self._settings.endpoint_concurrency)
        half = self._places_of_failing if failing else nullcontext()
        self._claimed += len(lane)
        self._claimed_by_failing += failing * len(lane)
        try:
            async with gate, half, self._places:
                while waiting and waiting[0].lease_until - now() > self._needed:
                    outcome = await self._attempt(waiting[0])
                    del waiting[0]
                    self._recorder.add(outcome)
                    pause = outcome.pause
                    if outcome.label != "delivered":
                        break
        except Exception:
            log.exception("delivery broke, its lease will end", id=waiting[0].id)
            del waiting[0]
        finally:
            self._claimed -= len(lane)
            self._claimed_by_failing -= failing * len(lane)
            for row in waiting:
                self._recorder.add(handed_back(row, pause=pause))
        await self._recorder.settled()

    async def _attempt(self, row: DeliveryRow) -> Outcome:
        with continued_span(f"deliver {row.event}", row.traceparent, SpanKind.CLIENT):
            hook = await self._hook(row.hook_id)
            if hook is None:
                return unsent(row, "the hook is gone")
            if not (hook.active or row.manual):
                given_up = was_given_up(hook.disabled_reason)
                return unsent(row, "the hook is switched off", state="failed" if given_up else "cancelled")
            if hook.endpoint != row.endpoint:
                return handed_back(row)  # to be claimed among what its new endpoint may get
            if not row.manual:
                try:
                    refusal = await self._rights.refusal(hook, row.repository_id)
                except ApiError as error:
                    return handed_back(
                        row, pause=UNKNOWN_PAUSE, reason=f"the right to it is not known: {error}"
                    )
                if refusal:
                    return unsent(row, refusal)
            return self._outcome(hook, row, await self._send(hook, row))

    async def _hook(self, hook_id: int) -> HookRow | None:
        """The hook as it is now, give or take a moment: rows of a lane may have waited for long."""
        known = self._hooks.get(hook_id)
        if known is None or not self._is_fresh(known):
            async with self._db.read() as db:
                known = (await store.get_for_delivery(db, hook_id), time.monotonic())
            self._hooks[hook_id] = known
        return known[0]

    @staticmethod
    def _is_fresh(known: tuple[HookRow | None, float]) -> bool:
        return time.monotonic() - known[1] < FRESH_SECONDS

    async def _send(self, hook: HookRow, row: DeliveryRow) -> Reply:
        at = now()
        try:
            secrets = valid_secrets(self._seal, hook, at)
            authorization = self._seal.open(hook.sealed_authorization)
        except Unreadable as error:
            return Reply(error=str(error))
        request = prepared(
            Message(id=row.id, event=row.event, kind=row.kind, sequence=row.sequence, text=row.body),
            content_type=hook.content_type if hook.type in FORMS else "json",
            secrets=secrets,
            authorization=authorization,
            at=at,
        )
        method, url = (
            ("PUT", with_transaction(hook.url, row.id)) if hook.type == "matrix" else ("POST", hook.url)
        )
        return await self._endpoints.send(method, url, request.headers, request.body)

    def _outcome(self, hook: HookRow, row: DeliveryRow, reply: Reply) -> Outcome:
        retry_after = next((v for k, v in reply.headers.items() if k.lower() == "retry-after"), "")
        verdict = judge(reply.status, retry_after, attempts=row.attempts, at=now(), jitter=self._jitter())
        error = "" if verdict.state == "delivered" else reply.error or f"answered {reply.status}"
        log.info(
            "delivery",
            id=row.id,
            hook=hook.id,
            attempt=row.attempts,
            status=reply.status,
            error=error or None,
        )
        values = {
            "state": verdict.state,
            "next_attempt_at": verdict.again_at or row.next_attempt_at,
            "status": reply.status,
            "response_headers": msgspec.json.encode(dict(reply.headers)).decode(),
            "response_body": reply.body,
            "error": error,
            "finished_at": None if verdict.state == "pending" else now(),
        }
        return Outcome(row=row, values=values, hook=hook, verdict=verdict)


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


class Lag:
    """Measures how far behind delivering is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def run(self) -> None:
        while True:
            await self.measure()
            await asyncio.sleep(MEASURE_EVERY)

    async def measure(self) -> None:
        """Put how long the delivery waits that is due for longest into the metrics, 0 where none is."""
        async with self._db.read() as db:
            since = await deliveries.due_since(db)
        LAG.set((now() - since).total_seconds() if since is not None else 0.0)
