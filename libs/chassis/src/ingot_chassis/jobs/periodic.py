"""Periodic tasks: short work that every process of a service repeats, and that an administrator can start.

Several processes may run a task at the same time, or only one of them (``Database.exclusive``). A repeated
run must be harmless. Work that must happen exactly once is a job (``jobs``).
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from ingot_chassis.clock import now
from ingot_chassis.operations import TaskReport

CLEANUP = timedelta(hours=1)
"""The time between two deletions of old rows."""


class PeriodicTask:
    """A task whose ``step`` runs at the start of the process, and then at intervals of ``every``.

    ``name`` begins with the name of the service, such as ``hooks_delete_old_deliveries``.
    """

    def __init__(self, name: str, every: timedelta, step: Callable[[], Awaitable[object]]) -> None:
        self.name, self.every = name, every
        self._step, self._runs = step, 0
        self._last_at: datetime | None = None
        self._next_at: datetime | None = None

    async def run(self) -> None:
        """Repeat the task until cancelled, or until it fails."""
        while True:
            await self.run_now()
            self._next_at = now() + self.every
            await asyncio.sleep(self.every.total_seconds())

    async def run_now(self) -> None:
        """Run the task once. The time of the next run does not change."""
        await self._step()
        self._runs, self._last_at = self._runs + 1, now()

    def report(self) -> TaskReport:
        return TaskReport(
            self.name, int(self.every.total_seconds()), self._runs, self._last_at, self._next_at
        )
