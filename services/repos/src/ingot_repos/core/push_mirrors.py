"""Remotes to which a repository is pushed: each has a job that runs again, and a row with the outcome of its last run."""

import secrets
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_repos.core.intervals import pause_after
from ingot_repos.core.job_kinds import job_kind
from ingot_repos.git.remote import Reason
from ingot_repos.store import push_mirrors, repositories
from ingot_repos.store.push_mirrors import PushMirrorRow
from ingot_repos.store.repositories import RepositoryRow

PUSH = "push-mirror"
MOST = 20
"""Push mirrors of one repository."""


class PushToMirror(msgspec.Struct, frozen=True):
    """The job that pushes a repository to one remote."""

    mirror_id: int


async def add(
    tx: Tx,
    jobs: Jobs,
    row: RepositoryRow,
    user_id: int,
    *,
    url: str,
    sealed: bytes | None,
    interval_seconds: int,
    sync_on_commit: bool,
) -> PushMirrorRow:
    """Add a push mirror, and its first run. Raises Denied when there are ``MOST``."""
    await repositories.lock_for_update(tx, row.id)
    if await push_mirrors.count(tx, row.id) >= MOST:
        raise Denied(f"the repository has {MOST} push mirrors, and may have no more")
    mirror = await push_mirrors.add(
        tx,
        row.id,
        name=f"remote_mirror_{secrets.token_hex(5)}",
        url=url,
        sealed=sealed,
        user_id=user_id,
        interval_seconds=interval_seconds,
        sync_on_commit=sync_on_commit,
    )
    await request_push(tx, jobs, mirror.id, row.shard)
    return mirror


async def request_push(tx: Tx, jobs: Jobs, mirror_id: int, shard: str) -> None:
    """Push now, or after the run that goes on."""
    at = now()
    await push_mirrors.change(tx, mirror_id, asked_at=at)
    await jobs.schedule(tx, job_kind(PUSH, shard), mirror_id, PushToMirror(mirror_id), at)


async def request_pushes(tx: Tx, jobs: Jobs, repository_id: int) -> None:
    """Branches or tags moved: push to the mirrors that follow every push."""
    for due in await push_mirrors.list_on_commit(tx, repository_id):
        await request_push(tx, jobs, due.id, due.shard)


async def record(
    tx: Tx, jobs: Jobs, job: Job, mirror_id: int, *, started: datetime, reason: Reason | Literal[""]
) -> None:
    """A run ended, with the reason why it failed: schedule the next one."""
    mirror = await push_mirrors.get(tx, mirror_id)
    if mirror is None:
        await jobs.finish(tx, job)
        return
    failures = mirror.failures + 1 if reason else 0
    interval = mirror.interval_seconds
    following = now() + timedelta(seconds=interval) if interval else None
    if failures and interval:
        following = now() + pause_after(failures, interval)
    if mirror.asked_at is not None and mirror.asked_at > started:
        following = now()
    values: dict[str, Any] = {"failures": failures, "reason": reason, "last_at": now()}
    await push_mirrors.change(tx, mirror_id, **values)
    await jobs.finish(tx, job, again_at=following)
