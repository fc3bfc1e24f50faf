"""Which process may touch the files of a repository: those of the shard that its row names, and no others."""

from collections.abc import Mapping

from ingot_chassis.jobs import Work


def job_kind(kind: str, shard: str) -> str:
    """The kind under which a job is kept that only workers of that shard take."""
    return f"{kind}@{shard}"


def on_shard(work: Mapping[str, Work], shard: str) -> dict[str, Work]:
    """What workers of the shard take: also jobs without a shard, which an older release left."""
    return {**work, **{job_kind(kind, shard): do for kind, do in work.items()}}
