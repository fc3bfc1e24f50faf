"""Records the outcomes of attempts: many in one transaction, while the next attempts are running."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import msgspec
import structlog
from prometheus_client import Counter as Metric

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import is_outage
from ingot_chassis.db.transaction import Tx
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import HookRow
from ingot_hooks.deliveries.jobs.leases import Leases
from ingot_hooks.deliveries.rules.deactivation import announce_deactivation, deactivation_reason
from ingot_hooks.deliveries.rules.schedule import AttemptResult
from ingot_hooks.deliveries.store import claims
from ingot_hooks.deliveries.store import queries as deliveries
from ingot_hooks.deliveries.store.claims import OutcomeColumns
from ingot_hooks.deliveries.store.queries import CancelledOrFailed, DeliveryRow
from ingot_hooks.deliveries.store.tables import DeliveryState
from ingot_hooks.settings import Settings

log = structlog.get_logger()

BATCH = 200
COLLECT_SECONDS = 0.02
"""The time for which outcomes are collected before they are written."""
RETRY_SECONDS = 0.5

ATTEMPTS = Metric("ingot_hook_attempts_total", "Attempts to deliver, by what became of them", ["outcome"])


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that an attempt makes to its delivery and, with ``result``, to its hook."""

    row: DeliveryRow
    columns: OutcomeColumns
    hook: HookRow | None = None
    result: AttemptResult | None = None
    pauses_lane: bool = False
    """True if the lane has to wait before it retries this delivery first."""

    @property
    def state(self) -> DeliveryState:
        return self.result.state if self.result else self.columns["state"]

    @property
    def changes_hook(self) -> bool:
        """True if the hook's row must change: after a failure, and after the first success after failures."""
        if self.hook is None or self.result is None:
            return False
        return self.result.state != DeliveryState.DELIVERED or self.hook.failing_since is not None


def returned(row: DeliveryRow, *, pauses_lane: bool = False, reason: str = "") -> Outcome:
    """Return the outcome of an attempt without a request or response: pending again, and not counted.

    The delivery keeps its due time, so it stays the first delivery of its lane.
    """
    columns = OutcomeColumns(state=DeliveryState.PENDING, attempts=row.attempts - 1)
    if reason:
        columns["error"] = reason
    return Outcome(row=row, columns=columns, pauses_lane=pauses_lane)


def unsent(
    row: DeliveryRow,
    reason: str,
    *,
    state: CancelledOrFailed = DeliveryState.CANCELLED,
) -> Outcome:
    """Return the outcome of a delivery that ends without a request. The attempt is not counted."""
    columns = OutcomeColumns(state=state, attempts=row.attempts - 1, error=reason, finished_at=now())
    return Outcome(row=row, columns=columns)


class OutcomeRecorder:
    """Collects outcomes and writes many at once.

    A delivery keeps its lease until its outcome is written, so no worker sends it again earlier. Failed
    writes are retried until the lease ends. ``on_written`` is called after each commit.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        leases: Leases,
        on_written: Callable[[], None] = lambda: None,
    ) -> None:
        self._db, self._failing_limit = database, timedelta(days=settings.failing_days)
        self._leases, self._on_written = leases, on_written
        self._outcomes: list[Outcome] = []
        self._write_task: asyncio.Task[None] | None = None

    def add(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        if self._write_task is None or self._write_task.done():
            self._write_task = asyncio.create_task(self._write())

    async def flush(self) -> None:
        """Wait until all outcomes added so far are written, or their leases have expired."""
        if self._write_task is not None:
            await asyncio.wait({self._write_task})

    def count_by_endpoint(self) -> Counter[str]:
        """Return the number of unwritten outcomes by endpoint.

        The database still shows their deliveries as running.
        """
        return Counter(outcome.row.endpoint for outcome in self._outcomes)

    async def _write(self) -> None:
        await asyncio.sleep(COLLECT_SECONDS)
        while self._outcomes:
            batch = self._outcomes[:BATCH]
            failed = await self._write_or_keep(batch)
            self._outcomes[: len(batch)] = failed
            if failed:
                await asyncio.sleep(RETRY_SECONDS)

    async def _write_or_keep(self, batch: list[Outcome]) -> list[Outcome]:
        """Write all of ``batch`` at once or, if that fails, each outcome alone.

        Return the unwritten outcomes whose lease is still valid.
        """
        try:
            await self._write_batch(batch)
        except Exception as error:  # noqa: BLE001 - whatever it is, the requests were sent
            passes = is_outage(error)
            log.warning("outcomes not recorded, trying again", count=len(batch), error=repr(error))
        else:
            return []
        if len(batch) > 1 and not passes:
            return [failed for outcome in batch for failed in await self._write_or_keep([outcome])]
        if not passes:
            self._leases.let_end(batch[0].row)  # It would block its lane for ever.
        unwritten = [outcome for outcome in batch if self._leases.is_valid(outcome.row)]
        if len(unwritten) < len(batch):
            log.error("outcomes not recorded, the leases have ended", count=len(batch) - len(unwritten))
        return unwritten

    async def _write_batch(self, batch: list[Outcome]) -> None:
        # Hooks are written in one order everywhere, because another process may write the same hooks.
        of_hooks = sorted((one for one in batch if one.changes_hook), key=lambda one: one.row.hook_id)
        fences = {outcome.row.number: outcome.row.fence for outcome in batch} if of_hooks else {}
        async with self._db.transaction() as tx:
            claimed = set(await claims.lock_claimed(tx, fences)) if fences else set()
            await claims.record(tx, [(outcome.row, outcome.columns) for outcome in batch])
            for outcome in of_hooks:
                if outcome.row.number in claimed:
                    await self._change_hook(tx, outcome)
        for outcome in batch:
            self._leases.forget(outcome.row)
            ATTEMPTS.labels(outcome.state).inc()
        self._on_written()

    async def _change_hook(self, tx: Tx, outcome: Outcome) -> None:
        hook, result = outcome.hook, outcome.result
        if hook is None or result is None:
            return
        if result.state == DeliveryState.DELIVERED:
            await store.mark_healthy(tx, hook.id)
            return
        reason = deactivation_reason(
            result,
            outcome.columns["error"],
            failing_since=await store.mark_failing(tx, hook.id),
            at=now(),
            limit=self._failing_limit,
        )
        if reason and hook.active and await store.deactivate(tx, hook, reason):
            await deliveries.end_pending(
                tx, [hook.id], f"the hook was switched off: {reason}", state=DeliveryState.FAILED
            )
            announce_deactivation(tx, hook, reason)
