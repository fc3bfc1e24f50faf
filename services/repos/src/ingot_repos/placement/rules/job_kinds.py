"""Kinds of jobs per shard. Only processes of the repository's shard may change its files."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.errors import InsufficientStorage
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_git.process.disk import disk_errors
from ingot_git.process.errors import StorageFull


def job_kind(kind: str, shard: str) -> str:
    """Return the kind of a job for workers of that shard."""
    return f"{kind}@{shard}"


def on_shard(work: Mapping[str, Work], shard: str) -> dict[str, Work]:
    """Return the handlers of a shard's workers by kind, including kinds of older releases without a shard.

    A full disk is not a failure of the job: the job is retried soon, any number of times.
    """
    by_kind = {kind: _unless_full(do) for kind, do in work.items()}
    return {**by_kind, **{job_kind(kind, shard): do for kind, do in by_kind.items()}}


async def was_moved_to_shard(jobs: Jobs, job: Job, kind: str, shard: str, payload: msgspec.Struct) -> bool:
    """Move the job to ``shard`` if its repository has moved there. Return True if it was moved."""
    if job.kind in (kind, job_kind(kind, shard)):
        return False
    async with jobs.database.transaction() as tx:
        await jobs.add(tx, job_kind(kind, shard), job.key, payload)
        await jobs.finish(tx, job)
    return True


def _unless_full(do: Work) -> Work:
    async def work(job: Job) -> None:
        try:
            with disk_errors():
                await do(job)
        except StorageFull as error:
            raise InsufficientStorage from error

    return work
