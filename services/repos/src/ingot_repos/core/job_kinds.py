"""Kinds of jobs by shard: the files of a repository are touched only by processes of the shard that its row names."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.errors import InsufficientStorage
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_repos.git.disk import disk_errors
from ingot_repos.git.errors import StorageFull


def job_kind(kind: str, shard: str) -> str:
    """The kind of a job that only workers of that shard take."""
    return f"{kind}@{shard}"


def on_shard(work: Mapping[str, Work], shard: str) -> dict[str, Work]:
    """The work of workers of the shard. They also take jobs without a shard, which an older release added.

    That the disk is full is no fault of a job: it runs again soon, however often that happens.
    """
    by_kind = {kind: _unless_full(do) for kind, do in work.items()}
    return {**by_kind, **{job_kind(kind, shard): do for kind, do in by_kind.items()}}


async def was_handed_on(jobs: Jobs, job: Job, kind: str, shard: str, payload: msgspec.Struct) -> bool:
    """Whether the repository of the job has moved to ``shard``: then it is added there, and ended here."""
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
