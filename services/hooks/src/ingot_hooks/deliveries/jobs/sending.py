"""Sends deliveries: claims due deliveries, makes one attempt at each, and records the outcomes.

Deliveries are claimed in lanes, one for each hook and repository. A lane is sent in order. When the
permission for its first delivery cannot be checked, the whole lane waits. Leases are renewed while a worker
works. A running delivery whose lease has expired belongs to a dead worker. It is sent again, with its id.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

import msgspec
import structlog
from opentelemetry.trace import SpanKind
from sqlalchemy.exc import DBAPIError

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import is_outage
from ingot_chassis.errors import ApiError
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_chassis.telemetry import continue_span
from ingot_hooks.catalog.rules.secrets import valid_secrets
from ingot_hooks.catalog.rules.wakeup import DeliveryWakeup
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import HookRow
from ingot_hooks.catalog.store.tables import ContentType, HookType
from ingot_hooks.deliveries.jobs.leases import Leases
from ingot_hooks.deliveries.jobs.outcomes import Outcome, OutcomeRecorder, returned, unsent
from ingot_hooks.deliveries.jobs.permissions import PermissionChecker
from ingot_hooks.deliveries.jobs.slots import EndpointSlotsByName
from ingot_hooks.deliveries.rules.deactivation import is_endpoint_failure
from ingot_hooks.deliveries.rules.schedule import attempt_result
from ingot_hooks.deliveries.rules.signing import Message, signed_request
from ingot_hooks.deliveries.store import claims
from ingot_hooks.deliveries.store.claims import OutcomeColumns
from ingot_hooks.deliveries.store.due import ClaimLimits, EndpointLimit, Lane, find_due
from ingot_hooks.deliveries.store.queries import DeliveryRow
from ingot_hooks.deliveries.store.tables import DeliveryState
from ingot_hooks.endpoints.clients.pool import Endpoints
from ingot_hooks.endpoints.clients.replies import Reply
from ingot_hooks.payloads.rules.body_formats import FORM_TYPES, with_transaction
from ingot_hooks.settings import Settings

log = structlog.get_logger()

BEYOND_ANSWER = timedelta(seconds=5)
"""Seconds of an attempt after the response: for reading the body, and recording the outcome."""
MAX_CLAIMED = 2000
CLAIM_PAUSE = 0.04
"""The shortest time between two searches for due deliveries. A single delivery does not wait for it."""
FRESH_SECONDS = 0.5
OPEN_SECRETS = 1000
"""The number of opened secrets that a worker caches."""
LANE_PAUSE_SECONDS = 5.0
"""Pause of a lane after the permission for its first delivery could not be checked."""


class _CachedHook(NamedTuple):
    """A cached hook, None if it was deleted, and the monotonic time of its read."""

    row: HookRow | None
    read_at: float

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.read_at < FRESH_SECONDS


class DeliveryWorker:
    """Sends due deliveries, at most ``delivery_workers`` at a time."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        seal: Seal,
        wakeup: DeliveryWakeup,
        endpoints: Endpoints,
        permissions: PermissionChecker,
        *,
        jitter: Callable[[], float] = lambda: random.uniform(-1, 1),  # noqa: S311 - spreads load
        lane_pause: float = LANE_PAUSE_SECONDS,
    ) -> None:
        self._lane_pause = lane_pause
        self._db, self._settings, self._endpoints = database, settings, endpoints
        # Most deliveries are of hooks that have just had another one.
        self._open_secret = lru_cache(OPEN_SECRETS)(seal.open)
        self._wakeup = wakeup
        self._permissions, self._jitter = permissions, jitter
        self._attempt_limit = timedelta(seconds=settings.delivery_seconds) + BEYOND_ANSWER
        self._leases = Leases(database)
        self._paused: dict[Lane, float] = {}
        """Lanes that wait, and until when, in monotonic time."""
        self._slots = asyncio.Semaphore(settings.delivery_workers)
        self._slots_of_failing = asyncio.Semaphore(max(1, settings.delivery_workers // 2))
        self._endpoint_slots = EndpointSlotsByName(settings.endpoint_concurrency)
        self._hooks: dict[int, _CachedHook] = {}
        self._recorder = OutcomeRecorder(database, settings, self._leases, self._wakeup.notify)
        self._lanes: set[asyncio.Task[None]] = set()
        self._claimed = self._claimed_of_failing = 0

    async def run(self) -> None:
        """Send deliveries until cancelled. Running deliveries then become pending again."""
        renewal = asyncio.create_task(self._leases.run())
        try:
            while True:
                turn = time.monotonic()
                if not await self._try_to_start_due():
                    await self._wakeup.wait()
                # During the pause more becomes due and attempts end. The next claim takes all of it together.
                await asyncio.sleep(turn + CLAIM_PAUSE - time.monotonic())
        finally:
            for lane in self._lanes:
                lane.cancel()
            await asyncio.gather(*self._lanes, return_exceptions=True)
            renewal.cancel()  # So the outcomes have as long as a lease to be written.
            await self._recorder.flush()

    async def step(self) -> int:
        """Send all deliveries that are due now. Return the number of claimed deliveries."""
        count = 0
        while started := await self._start_due():
            count += started
            await asyncio.gather(*self._lanes)
            await self._recorder.flush()
        return count

    async def _try_to_start_due(self) -> int:
        try:
            return await self._start_due()
        except Exception as error:  # noqa: BLE001 - running attempts shall end, not be repeated
            log.warning("deliveries not claimed, trying again", error=repr(error))
            return 0

    async def _start_due(self) -> int:
        rows = await self._claim(MAX_CLAIMED - self._claimed)
        lanes: dict[Lane, list[DeliveryRow]] = defaultdict(list)
        for row in rows:
            lanes[row.hook_id, row.repository_id].append(row)
        for lane in lanes.values():
            task = asyncio.create_task(self._deliver(lane, failing=self._is_failing(lane[0].hook_id)))
            self._lanes.add(task)
            task.add_done_callback(self._lanes.discard)
        return len(rows)

    async def _claim(self, limit: int) -> Sequence[DeliveryRow]:
        if limit <= 0:
            return []
        unwritten = self._recorder.count_by_endpoint()

        def limit_of(endpoint: str) -> EndpointLimit:
            limit = self._endpoint_slots[endpoint].limit()
            return limit._replace(running=limit.running + unwritten[endpoint])

        limits = ClaimLimits(
            limit_of,
            include_failing=self._claimed_of_failing < MAX_CLAIMED // 2,
            paused_lanes=self._paused_lanes(),
        )
        async with self._db.transaction() as tx:
            due = await find_due(tx, limit, limits)
            rows = [] if due.abandoned else await self._leases.claim(tx, due.numbers)
            hooks = await store.get_many(tx, {row.hook_id for row in rows}) if rows else {}
        if due.abandoned:
            # One of its own, which is planned as usual.
            async with self._db.transaction() as tx:
                await claims.release_abandoned(tx)
            return await self._claim(limit)
        read_at = time.monotonic()
        self._hooks = {hook_id: cached for hook_id, cached in self._hooks.items() if cached.is_fresh}
        self._hooks |= {row.hook_id: _CachedHook(hooks.get(row.hook_id), read_at) for row in rows}
        return rows

    def _paused_lanes(self) -> Collection[Lane]:
        present = time.monotonic()
        self._paused = {lane: until for lane, until in self._paused.items() if until > present}
        return self._paused.keys()

    def _is_failing(self, hook_id: int) -> bool:
        """True if the last attempt at the hook failed. Failing hooks get at most half of all slots."""
        hook = self._hooks[hook_id].row
        return hook is not None and hook.failing_since is not None

    async def _deliver(self, lane: list[DeliveryRow], *, failing: bool) -> None:
        """Send a lane in order, for a limited time. A failure makes the rest pending again."""
        waiting = list(lane)
        endpoint_slots = self._endpoint_slots[lane[0].endpoint]
        failing_slots = self._slots_of_failing if failing else nullcontext()
        self._claimed += len(lane)
        self._claimed_of_failing += failing * len(lane)
        try:
            async with endpoint_slots.free, failing_slots, self._slots:
                while waiting and self._may_begin(waiting[0]):
                    with endpoint_slots.attempt():
                        outcome = await self._attempt(waiting[0])
                    del waiting[0]
                    if outcome.pauses_lane:
                        self._paused[outcome.row.hook_id, outcome.row.repository_id] = (
                            time.monotonic() + self._lane_pause
                        )
                    self._recorder.add(outcome)
                    if outcome.state != DeliveryState.DELIVERED:
                        break
        except Exception:
            log.exception("attempt failed, the lease of the delivery will end", id=waiting[0].id)
            self._leases.forget(waiting[0])
            del waiting[0]
        finally:
            self._claimed -= len(lane)
            self._claimed_of_failing -= failing * len(lane)
            for row in waiting:
                self._recorder.add(returned(row))

    def _may_begin(self, row: DeliveryRow) -> bool:
        """True if the delivery still belongs to this worker, and its lane may still send in this turn."""
        is_in_time = row.attempted_at is not None and now() - row.attempted_at < self._attempt_limit
        return is_in_time and self._leases.is_valid(row)

    async def _attempt(self, row: DeliveryRow) -> Outcome:
        with continue_span(f"deliver {row.event}", row.traceparent, SpanKind.CLIENT):
            try:
                hook = await self._hook(row.hook_id)
                if hook is None:
                    return unsent(row, "the hook was deleted")
                unsendable = await self._unsendable(hook, row)
            except (ApiError, DBAPIError) as error:
                if isinstance(error, DBAPIError) and not is_outage(error):
                    raise
                problem = error if isinstance(error, ApiError) else "the database does not answer"
                reason = f"the permission for it could not be checked: {problem}"
                return returned(row, pauses_lane=True, reason=reason)
            return unsendable or self._outcome(hook, row, await self._send(hook, row))

    async def _unsendable(self, hook: HookRow, row: DeliveryRow) -> Outcome | None:
        """Return the outcome of a delivery that may not be sent now; None if it may be sent.

        Inactive hooks get only manual deliveries.
        """
        if not (hook.active or row.manual):
            failed = is_endpoint_failure(hook.disabled_reason)
            return unsent(
                row,
                "the hook is switched off",
                state=DeliveryState.FAILED if failed else DeliveryState.CANCELLED,
            )
        if hook.endpoint != row.endpoint:
            return returned(row)  # It will be claimed within the limit of the new endpoint.
        refusal = (
            await self._permissions.refusal(hook, row.repository_id, row.kind or row.event)
            if hook.active
            else ""
        )
        return unsent(row, refusal) if refusal else None

    async def _hook(self, hook_id: int) -> HookRow | None:
        """Return the hook, read at most ``FRESH_SECONDS`` ago: deliveries may wait long in their lane."""
        cached = self._hooks.get(hook_id)
        if cached is None or not cached.is_fresh:
            async with self._db.read() as db:
                rows = await store.get_many(db, [hook_id])
            cached = _CachedHook(rows.get(hook_id), time.monotonic())
            self._hooks[hook_id] = cached
        return cached.row

    async def _send(self, hook: HookRow, row: DeliveryRow) -> Reply:
        at = now()
        try:
            secrets = valid_secrets(self._open_secret, hook, at)
            authorization = self._open_secret(hook.sealed_authorization)
        except Unreadable as error:
            return Reply(error=str(error))
        request = signed_request(
            Message(id=row.id, event=row.event, kind=row.kind, sequence=row.sequence, text=row.body),
            content_type=hook.content_type if hook.type in FORM_TYPES else ContentType.JSON,
            secrets=secrets,
            authorization=authorization,
            at=at,
        )
        if hook.type == HookType.MATRIX:
            method, url = "PUT", with_transaction(hook.url, row.id)
        else:
            method, url = "POST", hook.url
        return await self._endpoints.send(method, url, request.headers, request.body)

    def _outcome(self, hook: HookRow, row: DeliveryRow, reply: Reply) -> Outcome:
        retry_after = next((v for k, v in reply.headers.items() if k.lower() == "retry-after"), "")
        result = attempt_result(
            reply.status, retry_after, attempts=row.attempts, at=now(), jitter=self._jitter()
        )
        delivered = result.state == DeliveryState.DELIVERED
        error = "" if delivered else reply.error or f"answered {reply.status}"
        log.info(
            "delivery",
            id=row.id,
            hook=hook.id,
            attempt=row.attempts,
            status=reply.status,
            error=error or None,
        )
        columns = OutcomeColumns(
            state=result.state,
            next_attempt_at=result.next_attempt_at or row.next_attempt_at,
            status=reply.status,
            response_headers=msgspec.json.encode(dict(reply.headers)).decode(),
            response_body=reply.body,
            error=error,
            finished_at=None if result.state == DeliveryState.PENDING else now(),
        )
        return Outcome(row=row, columns=columns, hook=hook, result=result)
