"""Extension of the lease of a journal entry while its push runs. An expired entry counts as abandoned."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_repos.pushes.store import refs

log = structlog.get_logger()


@contextmanager
def extending_lease(database: Database, push_id: int, lease: timedelta) -> Iterator[None]:
    """Extend the lease inside the block.

    The task starts only if the block takes long, which is rare.
    """
    loop, extension = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    def begin() -> None:
        extension.append(loop.create_task(_extend(database, push_id, lease)))

    timer = loop.call_later(lease.total_seconds() / 3, begin)
    try:
        yield
    finally:
        timer.cancel()
        for task in extension:
            task.cancel()


async def _extend(database: Database, push_id: int, lease: timedelta) -> None:
    while True:
        try:
            async with database.transaction() as tx:
                await refs.extend_push(tx, push_id, now() + lease)
        except Exception as error:  # noqa: BLE001 - tried again soon; `settle` copes with a lost lease
            log.warning("lease of a push not extended", push=push_id, error=repr(error))
        await asyncio.sleep(lease.total_seconds() / 3)
