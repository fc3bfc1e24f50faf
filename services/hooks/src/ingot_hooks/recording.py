"""Writing down what came of attempts: many at once, in one transaction, while the next ones are under way."""

import asyncio
from datetime import timedelta
from typing import Any, Literal

import msgspec
import structlog
from prometheus_client import Counter

from ingot_chassis.database import Database, Tx
from ingot_chassis.tables import now
from ingot_hooks.core import health
from ingot_hooks.core.schedule import Verdict
from ingot_hooks.settings import Settings
from ingot_hooks.store import claims, deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.deliveries import DeliveryRow
from ingot_hooks.store.hooks import HookRow

log = structlog.get_logger()

BATCH = 200
LINGER = 0.02
"""Seconds in which outcomes come together."""

ATTEMPTS = Counter("ingot_hook_attempts_total", "Attempts to deliver, by what became of them", ["outcome"])


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a claimed delivery: ``values`` of its columns. ``verdict``: what follows for its hook."""

    row: DeliveryRow
    values: dict[str, Any]
    hook: HookRow | None = None
    verdict: Verdict | None = None
    pause: timedelta = timedelta(0)
    """How long what comes after it in its lane waits, too."""

    @property
    def label(self) -> str:
        return self.verdict.state if self.verdict else str(self.values["state"])

    @property
    def tells_of_health(self) -> bool:
        """Whether the hook has to be changed: not when one that is well was delivered to."""
        if self.hook is None or self.verdict is None:
            return False
        return self.verdict.state != "delivered" or self.hook.failing_since is not None


def handed_back(row: DeliveryRow, *, pause: timedelta = timedelta(0), reason: str = "") -> Outcome:
    """Nothing was sent, or the answer was not heard: somebody asks again later, as the same attempt."""
    values: dict[str, Any] = {"state": "pending", "attempts": row.attempts - 1}
    if pause:
        values["next_attempt_at"] = now() + pause
    return Outcome(row=row, values=values | ({"error": reason} if reason else {}), pause=pause)


def unsent(row: DeliveryRow, reason: str, *, state: Literal["cancelled", "failed"] = "cancelled") -> Outcome:
    """Nothing is sent any more, nor was with the attempt that it was claimed for."""
    values = {"state": state, "attempts": row.attempts - 1, "error": reason, "finished_at": now()}
    return Outcome(row=row, values=values)


class Recorder:
    """Takes outcomes at any time and writes those that have come together."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db, self._settings = database, settings
        self._waiting: list[Outcome] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, outcome: Outcome) -> None:
        self._waiting.append(outcome)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def settled(self) -> None:
        """Return when all that was added so far is written."""
        if self._writing is not None:
            await asyncio.wait({self._writing})

    async def _write(self) -> None:
        await asyncio.sleep(LINGER)
        while self._waiting:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            try:
                await self._write_together(batch)
            except Exception:
                log.exception("deliveries not recorded, their leases will end", count=len(batch))

    async def _write_together(self, batch: list[Outcome]) -> None:
        # In one order everywhere, for two processes may have failures of the same hooks to write.
        telling = sorted((each for each in batch if each.tells_of_health), key=lambda each: each.row.hook_id)
        async with self._db.transaction() as tx:
            held = await claims.held(tx, [outcome.row for outcome in telling]) if telling else set()
            await claims.record(tx, [(outcome.row, outcome.values) for outcome in batch])
            for outcome in telling:
                if outcome.row.number in held:
                    await self._note_health(tx, outcome.hook, outcome.verdict, str(outcome.values["error"]))
        for outcome in batch:
            ATTEMPTS.labels(outcome.label).inc()

    async def _note_health(self, tx: Tx, hook: HookRow | None, verdict: Verdict | None, error: str) -> None:
        if hook is None or verdict is None:
            return
        if verdict.state == "delivered":
            await store.mark_healthy(tx, hook.id)
            return
        reason = health.reason_to_switch_off(
            verdict,
            error,
            failing_since=await store.mark_failing(tx, hook.id),
            at=now(),
            limit=timedelta(days=self._settings.failing_days),
        )
        if reason and hook.active and await store.switch_off(tx, hook, reason):
            await deliveries.end_pending(
                tx, [hook.id], f"the hook was switched off: {reason}", state="failed"
            )
