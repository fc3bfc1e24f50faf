"""Leases of the deliveries that a worker has claimed: short, and renewed while it works.

So the claims of a dead worker expire within a few seconds.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

import structlog

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_hooks.deliveries.store import claims
from ingot_hooks.deliveries.store.queries import DeliveryRow

log = structlog.get_logger()

LEASE_SECONDS = 9.0
RENEW_SECONDS = 3.0


class Leases:
    """Leases of this worker. While a lease ``is_valid``, no other worker can claim the delivery."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._fences: dict[int, int] = {}
        self._ends: dict[int, float] = {}
        """The end of each lease in monotonic time, by the number of its delivery."""
        self._ending: set[int] = set()

    async def claim(self, tx: Tx, numbers: Sequence[int]) -> list[DeliveryRow]:
        """Claim the free deliveries among ``numbers``. Return their rows, ordered by number.

        A lease is renewed only after the commit, because the claim may have failed.
        """
        end = time.monotonic() + LEASE_SECONDS
        rows = await claims.claim(tx, numbers, lease=timedelta(seconds=LEASE_SECONDS))

        def hold() -> None:
            for row in rows:
                self._fences[row.number], self._ends[row.number] = row.fence, end
                self._ending.discard(row.number)

        tx.on_commit(hold)
        return rows

    def is_valid(self, row: DeliveryRow) -> bool:
        return self._fences.get(row.number) == row.fence and time.monotonic() < self._ends[row.number]

    def let_end(self, row: DeliveryRow) -> None:
        """Stop renewing a lease. It stays valid until its end."""
        if self._fences.get(row.number) == row.fence:
            self._ending.add(row.number)

    def forget(self, row: DeliveryRow) -> None:
        """Forget a lease after the outcome was written. Writing it has released the delivery."""
        if self._fences.get(row.number) == row.fence:
            self._remove(row.number)

    def _remove(self, number: int) -> None:
        del self._fences[number], self._ends[number]
        self._ending.discard(number)

    async def run(self) -> None:
        """Renew leases until cancelled."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self.renew()
            except Exception as error:  # noqa: BLE001 - another try fits into the term
                log.warning("leases of deliveries not renewed", count=len(self._fences), error=repr(error))

    async def renew(self) -> None:
        """Renew all leases, except leases that ``let_end`` has stopped renewing.

        Leases that other workers have taken over are lost.
        """
        fences = {number: fence for number, fence in self._fences.items() if number not in self._ending}
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
                self._remove(number)
