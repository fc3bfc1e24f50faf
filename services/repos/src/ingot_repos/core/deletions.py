"""The files of a deleted repository: they are removed when every service that knew of it has confirmed the deletion."""

from datetime import timedelta

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_repos.core.job_kinds import job_kind
from ingot_repos.store import tombstones

REMOVE = "remove"
AWAITED = ("hooks", "identity", "issues")
CONFIRMATION_TIME = timedelta(days=7)
"""As long as events are stored: a service that has not received the deletion by then never will."""


class Remove(msgspec.Struct, frozen=True):
    """The job that removes the files of a deleted repository."""

    repository_id: int


async def write_tombstone(tx: Tx, jobs: Jobs, repository_id: int, shard: str, *, was_ready: bool) -> None:
    """Note that a repository was deleted whose files are on ``shard``.

    No service knows one that was never ready, so its files are released now.
    """
    if was_ready:
        await tombstones.add(tx, repository_id, shard, AWAITED)
    else:
        await release(tx, jobs, repository_id, shard)


async def confirm(tx: Tx, jobs: Jobs, service: str, repository_id: int) -> None:
    """A service confirms that it has forgotten the repository; after the last one the files are released."""
    shard = await tombstones.confirm(tx, repository_id, service)
    if shard is not None:
        await release(tx, jobs, repository_id, shard)


async def release(tx: Tx, jobs: Jobs, repository_id: int, shard: str) -> None:
    """Let a job remove the files."""
    await jobs.add(tx, job_kind(REMOVE, shard), repository_id, Remove(repository_id))
