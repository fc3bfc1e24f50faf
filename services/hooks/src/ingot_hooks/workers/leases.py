"""The leases of the deliveries that a worker has claimed: short, and renewed while it works.

So what a dead worker had claimed waits for a few seconds only.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

import structlog

from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_hooks.store import claims
from ingot_hooks.store.deliveries import DeliveryRow

log = structlog.get_logger()

LEASE_SECONDS = 9.0
RENEW_SECONDS = 3.0


class Leases:
    """``is_valid`` says whether this worker may still act on a delivery: no other can have claimed it."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._fences: dict[int, int] = {}
        self._ends: dict[int, float] = {}
        """Of each lease by the number of its delivery, in monotonic time."""

    async def claim(self, tx: Executor, numbers: Sequence[int]) -> list[DeliveryRow]:
        """Claim those of ``numbers`` that are still free; the rows in their order."""
        end = time.monotonic() + LEASE_SECONDS
        rows = await claims.claim(tx, numbers, lease=timedelta(seconds=LEASE_SECONDS))
        for row in rows:
            self._fences[row.number], self._ends[row.number] = row.fence, end
        return rows

    def is_valid(self, row: DeliveryRow) -> bool:
        return self._fences.get(row.number) == row.fence and time.monotonic() < self._ends[row.number]

    def forget(self, row: DeliveryRow) -> None:
        """The attempt has ended: its outcome gives the delivery back."""
        if self._fences.get(row.number) == row.fence:
            del self._fences[row.number], self._ends[row.number]

    async def run(self) -> None:
        """Renew until cancelled."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self.renew()
            except Exception as error:  # noqa: BLE001 - another try fits into the term; then the leases are lost
                log.warning("leases of deliveries not renewed", count=len(self._fences), error=repr(error))

    async def renew(self) -> None:
        """Renew all. Those that another worker has claimed since are lost."""
        fences = dict(self._fences)
        if not fences:
            return
        end = time.monotonic() + LEASE_SECONDS
        async with self._db.transaction() as tx:
            renewed = await claims.renew(tx, fences, lease=timedelta(seconds=LEASE_SECONDS))
        for number, fence in fences.items():
            if self._fences.get(number) != fence:
                continue
            if number in renewed:
                self._ends[number] = end
            else:
                del self._fences[number], self._ends[number]
