"""What becomes of the files of a deleted repository: they stay until every service that knew of it has forgotten it."""

from datetime import timedelta
from typing import Any

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.jobs import Jobs
from ingot_repos.core.shards import job_kind
from ingot_repos.store import tombstones

REMOVE = "remove"
AWAITED = ("hooks", "identity", "issues")
PATIENCE = timedelta(days=7)
"""As long as events are kept: who has not heard of a deletion by then never will."""


class Remove(msgspec.Struct, frozen=True):
    """The job that takes a deleted repository from disk."""

    repository_id: int


async def bury(tx: Tx, jobs: Jobs, row: Any) -> None:
    """The repository of ``row`` is gone. One that was never ready is known to nobody else, and waits for nobody."""
    if row.state == "ready":
        await tombstones.add(tx, row.id, row.shard, AWAITED)
    else:
        await free(tx, jobs, row.id, row.shard)


async def forgotten_by(tx: Tx, jobs: Jobs, service: str, repository_id: int) -> None:
    """A service confirms that it has forgotten the repository; the last one frees its files."""
    shard = await tombstones.confirm(tx, repository_id, service)
    if shard is not None:
        await free(tx, jobs, repository_id, shard)


async def free(tx: Tx, jobs: Jobs, repository_id: int, shard: str) -> None:
    """Have the files taken away."""
    await jobs.add(tx, job_kind(REMOVE, shard), repository_id, Remove(repository_id))
