"""The schedule of mirrors: each is a job that runs again, and a row that says how the last run went."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import BadRequest, Invalid
from ingot_chassis.jobs import Job, Jobs
from ingot_chassis.tables import now
from ingot_contracts.repos import RepositoryEdited
from ingot_repos.core.intervals import pause_after
from ingot_repos.core.repositories import existing
from ingot_repos.core.shards import job_kind
from ingot_repos.core.views import Viewing, user
from ingot_repos.git.remote import Reason
from ingot_repos.store import accounts, remotes, repositories

SYNC = "sync"


class Sync(msgspec.Struct, frozen=True):
    """The job that brings a mirror up to date."""

    repository_id: int


async def begin(tx: Tx, jobs: Jobs, row: Any) -> None:
    """A mirror was filled: let its first sync follow after an interval."""
    mirror = await remotes.get_mirror(tx, row.id)
    if mirror is not None:
        await remotes.change_mirror(tx, row.id, last_ok_at=now())
        await _plan(tx, jobs, row, _after(mirror.interval_seconds))


async def ask(tx: Tx, jobs: Jobs, row: Any) -> None:
    """Bring a mirror up to date soon, once more if that is happening just now. Raises BadRequest for no mirror."""
    if not await remotes.change_mirror(tx, row.id, asked_at=now()):
        raise BadRequest("the repository is no mirror")
    await _plan(tx, jobs, row, now())


async def set_interval(tx: Tx, jobs: Jobs, row: Any, seconds: int) -> None:
    """Let syncs follow each other after so many seconds from now on; 0 for none. Raises Invalid for no mirror."""
    if not await remotes.change_mirror(tx, row.id, interval_seconds=seconds):
        raise Invalid.field("mirror_interval", "mirror", "the repository is no mirror")
    if row.state == "ready":
        await _plan(tx, jobs, row, _after(seconds))


async def set_secrets(tx: Tx, row: Any, sealed: bytes | None) -> None:
    """Fetch with another user name and password from now on. Raises Invalid for no mirror."""
    if not row.mirror:
        raise Invalid.field("mirror_username", "mirror", "the repository is no mirror")
    await remotes.change(tx, row.id, sealed=sealed)


async def succeed(
    tx: Tx, jobs: Jobs, job: Job, viewing: Viewing, row: Any, *, started: datetime, main: str | None
) -> None:
    """A sync went well: follow the remote's default branch, plan the next one, end this run."""
    if main is not None and main != row.default_branch:
        await repositories.change(tx, row.id, default_branch=main)
        edited = viewing.repository(await existing(tx, row.id))
        remote = await remotes.get(tx, row.id)
        asker = await accounts.get(tx, remote.user_id) if remote is not None else None
        tx.emit(
            RepositoryEdited(repository=edited, sender=user(asker) if asker else edited.owner), key=row.id
        )
    await _record(tx, jobs, job, row.id, started, reason="")


async def fail(
    tx: Tx, jobs: Jobs, job: Job, repository_id: int, *, started: datetime, reason: Reason
) -> None:
    """A sync did not go well: say why, plan the next one."""
    await _record(tx, jobs, job, repository_id, started, reason=reason)


async def _record(
    tx: Tx, jobs: Jobs, job: Job, repository_id: int, started: datetime, *, reason: Reason | Any
) -> None:
    mirror = await remotes.get_mirror(tx, repository_id)
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
    await remotes.change_mirror(tx, repository_id, **values)
    await jobs.finish(tx, job, again_at=following)


async def _plan(tx: Tx, jobs: Jobs, row: Any, at: datetime | None) -> None:
    """Let the next sync run at that time; None: when somebody asks."""
    await remotes.change_mirror(tx, row.id, next_run_at=at)
    if at is None:
        return
    kind = job_kind(SYNC, row.shard)
    if not await jobs.reschedule(tx, kind, row.id, at):
        await jobs.add(tx, kind, row.id, Sync(row.id), run_at=at)


def _after(interval: int) -> datetime | None:
    return now() + timedelta(seconds=interval) if interval else None
