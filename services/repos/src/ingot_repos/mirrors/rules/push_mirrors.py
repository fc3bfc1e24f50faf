"""The schedule of push mirrors. Each push mirror has a recurring job and a row with the last result."""

import secrets
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_contracts.repos.events import MirrorPushRequested
from ingot_git.remote.remote import Reason
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.mirrors import store as push_mirrors
from ingot_repos.mirrors.store import PushMirrorRow
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.presentation.rules.intervals import pause_after

PUSH = "push-mirror"
MOST = 20
"""Limit of push mirrors per repository."""


class PushToMirror(msgspec.Struct, frozen=True):
    """A job that pushes a repository to one remote."""

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
    """Add a push mirror and schedule its first run. Raises Denied if the repository has ``MOST``."""
    await repositories.lock_for_update(tx, row.id)
    if await push_mirrors.count(tx, row.id) >= MOST:
        raise Denied(f"the repository has {MOST} push mirrors, which is the limit; delete one first")
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
    await request_push(tx, jobs, row.id, mirror.id, row.shard)
    return mirror


async def request_push(tx: Tx, jobs: Jobs, repository_id: int, mirror_id: int, shard: str) -> None:
    """Schedule a push now. If a push is running, schedule the next one after it."""
    at = now()
    await push_mirrors.change(tx, mirror_id, asked_at=at)
    await jobs.schedule(tx, job_kind(PUSH, shard), mirror_id, PushToMirror(mirror_id), at)
    tx.emit(MirrorPushRequested(repository_id=repository_id, mirror_id=mirror_id), key=repository_id)


async def request_pushes(tx: Tx, jobs: Jobs, repository_id: int) -> None:
    """Schedule pushes to mirrors with ``sync_on_commit`` after branches or tags moved."""
    for due in await push_mirrors.list_on_commit(tx, repository_id):
        await request_push(tx, jobs, repository_id, due.id, due.shard)


async def record(
    tx: Tx, jobs: Jobs, job: Job, mirror_id: int, *, started: datetime, reason: Reason | Literal[""]
) -> None:
    """Record the result of a run and schedule the next one. ``reason`` is empty after a success."""
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
