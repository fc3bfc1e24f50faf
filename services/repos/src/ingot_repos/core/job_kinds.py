"""Kinds of jobs by shard: the files of a repository are touched only by processes of the shard that its row names."""

from collections.abc import Mapping

from ingot_chassis.jobs.workers import Work


def job_kind(kind: str, shard: str) -> str:
    """The kind of a job that only workers of that shard take."""
    return f"{kind}@{shard}"


def on_shard(work: Mapping[str, Work], shard: str) -> dict[str, Work]:
    """The work of workers of the shard. They also take jobs without a shard, which an older release added."""
    return {**work, **{job_kind(kind, shard): do for kind, do in work.items()}}
