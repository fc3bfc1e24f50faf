"""The schedule of mirrors. Each mirror has a recurring job and a row with the result of the last sync."""

from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import BadRequest
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_contracts.repos.events import MirrorSyncRequested, RepositoryEdited
from ingot_git.remote.remote import Reason
from ingot_repos.catalog.store import accounts, mirrors, repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.presentation.rules.announcements import current_row
from ingot_repos.presentation.rules.intervals import pause_after
from ingot_repos.presentation.rules.presenter import Presenter, as_user
from ingot_repos.remotes import store as imports

SYNC = "sync"


class Sync(msgspec.Struct, frozen=True):
    """A job that syncs a mirror."""

    repository_id: int


async def begin(tx: Tx, jobs: Jobs, row: RepositoryRow) -> None:
    """Schedule the first sync of an imported mirror after one interval."""
    mirror = await mirrors.get(tx, row.id)
    if mirror is not None:
        await mirrors.change(tx, row.id, last_ok_at=now())
        await _schedule(tx, jobs, row, _after(mirror.interval_seconds))


async def request_sync(tx: Tx, jobs: Jobs, row: RepositoryRow) -> None:
    """Schedule a sync now, or after the running one. Raises BadRequest if the repository is no mirror."""
    if not await mirrors.change(tx, row.id, asked_at=now()):
        raise BadRequest("the repository is not a mirror")
    await _schedule(tx, jobs, row, now())
    tx.emit(MirrorSyncRequested(repository_id=row.id), key=row.id)


async def set_interval(tx: Tx, jobs: Jobs, row: RepositoryRow, seconds: int) -> None:
    """Set the seconds between two syncs of a mirror. 0 means no scheduled syncs."""
    await mirrors.change(tx, row.id, interval_seconds=seconds)
    if row.state == RepositoryState.READY:
        await _schedule(tx, jobs, row, _after(seconds))


async def set_credentials(tx: Tx, row: RepositoryRow, sealed: bytes | None) -> None:
    """Change the credentials with which a mirror fetches."""
    await imports.change_remote(tx, row.id, sealed=sealed)


async def succeed(
    tx: Tx,
    jobs: Jobs,
    job: Job,
    presenter: Presenter,
    row: RepositoryRow,
    *,
    started: datetime,
    main: str | None,
) -> None:
    """Record a successful sync, adopt the remote's default branch ``main`` and schedule the next sync."""
    if main is not None and main != row.default_branch:
        await repositories.change(tx, row.id, default_branch=main)
        edited = presenter.repository(await current_row(tx, row.id))
        remote = await imports.get_remote(tx, row.id)
        user = await accounts.get(tx, remote.user_id) if remote is not None else None
        tx.emit(
            RepositoryEdited(repository=edited, sender=as_user(user) if user else edited.owner), key=row.id
        )
    await _record(tx, jobs, job, row.id, started, reason="")


async def fail(
    tx: Tx, jobs: Jobs, job: Job, repository_id: int, *, started: datetime, reason: Reason
) -> None:
    """Record the reason of a failed sync and schedule the next one."""
    await _record(tx, jobs, job, repository_id, started, reason=reason)


async def _record(
    tx: Tx, jobs: Jobs, job: Job, repository_id: int, started: datetime, *, reason: Reason | Literal[""]
) -> None:
    mirror = await mirrors.get(tx, repository_id)
    if mirror is None:
        await jobs.finish(tx, job)
        return
    failures = mirror.failures + 1 if reason else 0
    following = _after(mirror.interval_seconds)
    if failures and following is not None:
        following = now() + pause_after(failures, mirror.interval_seconds)
    if mirror.asked_at is not None and mirror.asked_at >= started:
        following = now()
    values: dict[str, Any] = {"failures": failures, "reason": reason, "next_run_at": following}
    if not reason:
        values["last_ok_at"] = now()
    await mirrors.change(tx, repository_id, **values)
    await jobs.finish(tx, job, again_at=following)


async def _schedule(tx: Tx, jobs: Jobs, row: RepositoryRow, at: datetime | None) -> None:
    """Schedule the next sync at that time; None means no scheduled sync."""
    await mirrors.change(tx, row.id, next_run_at=at)
    if at is None:
        return
    await jobs.schedule(tx, job_kind(SYNC, row.shard), row.id, Sync(row.id), at)


def _after(interval: int) -> datetime | None:
    return now() + timedelta(seconds=interval) if interval else None
