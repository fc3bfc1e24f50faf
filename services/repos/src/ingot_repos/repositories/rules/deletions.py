"""Removal of the files of deleted repositories, after every service has confirmed the deletion."""

from datetime import timedelta

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.jobs.jobs import Jobs
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.repositories.store import tombstones

REMOVE = "remove"
PURGE = "purge"
"""The job that deletes all repositories of an account. Its payload is the event that requested it."""
AWAITED = ("hooks", "identity", "issues")
CONFIRMATION_TIME = timedelta(days=7)
"""The retention time of events. A service that has not received the deletion by then never will."""


class Remove(msgspec.Struct, frozen=True):
    """The job that removes the files of a deleted repository."""

    repository_id: int


async def write_tombstone(tx: Tx, jobs: Jobs, repository_id: int, shard: str, *, was_ready: bool) -> None:
    """Record a deleted repository whose files are on ``shard``.

    If it was never ready, no service knows it, and its files are released now.
    """
    if was_ready:
        await tombstones.add(tx, repository_id, shard, AWAITED)
    else:
        await release(tx, jobs, repository_id, shard)


async def confirm(tx: Tx, jobs: Jobs, service: str, repository_id: int) -> None:
    """Record that a service has forgotten the repository. After the last one, release the files."""
    shard = await tombstones.confirm(tx, repository_id, service)
    if shard is not None:
        await release(tx, jobs, repository_id, shard)


async def release(tx: Tx, jobs: Jobs, repository_id: int, shard: str) -> None:
    """Schedule a job that removes the files."""
    await jobs.add(tx, job_kind(REMOVE, shard), repository_id, Remove(repository_id))
