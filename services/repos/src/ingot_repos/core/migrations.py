"""Migrations: a repository with its metadata at once, its commits from a remote by a job that can be watched.

What the job knows of the remote is in the database, secrets sealed. A migration that failed or was cancelled can be
started again and keeps what it has brought over.
"""

from typing import Any

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import Conflict
from ingot_chassis.jobs import Job, Jobs
from ingot_chassis.sealing import Seal, Unreadable
from ingot_chassis.tables import now
from ingot_contracts.repos import RepositoryCreated
from ingot_repos.core import mirrors
from ingot_repos.core.limits import require_room
from ingot_repos.core.repositories import existing
from ingot_repos.core.shards import job_kind
from ingot_repos.core.sources import Source
from ingot_repos.core.views import Viewing, user
from ingot_repos.git.remote import Reason
from ingot_repos.store import accounts, marks, refs, remotes, repositories

MIGRATE = "migrate"
NOBODY = "oauth2"
"""The user name that goes with a token alone; the large forges take it, and most others take any."""

TEXTS: dict[Reason, str] = {
    "address": "the address is not one that may be fetched from",
    "broken": "what the remote sent is broken or was broken off",
    "cancelled": "was cancelled",
    "failed": "fetching failed",
    "format": "the remote uses another object format than SHA-1",
    "host-key": "the remote's host key is not known",
    "idle": "the remote gave no sign of life for too long",
    "no-repository": "there is no git repository at this address",
    "not-found": "the remote knows no such repository",
    "redirect": "the remote answers with a redirect; name the address that it leads to",
    "secrets": "user name and password were sealed with another key; give them again",
    "tls": "no trusted TLS connection to the remote",
    "too-large": "the repository is larger than the limit",
    "too-many-refs": "the remote has more branches and tags than the limit",
    "unauthorized": "the remote wants other credentials",
    "unreachable": "the remote cannot be reached",
}
"""What people get to read. The words of the remote and of git are never shown."""


class Migrate(msgspec.Struct, frozen=True):
    """The job that brings a repository over."""

    repository_id: int


class NewMigration(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, checked. ``interval`` (seconds) is for mirrors."""

    name: str
    description: str = ""
    private: bool = False
    default_branch: str
    source: Source
    mirror: bool = False
    interval: int = 0


def told(reason: str) -> str:
    """A reason in words; empty for none."""
    return next((text for known, text in TEXTS.items() if known == reason), "")


def sealed(seal: Seal, username: str, password: str) -> bytes | None:
    """User name and password as they are kept; None when there are none."""
    if not username and not password:
        return None
    return seal.close(msgspec.json.encode([username or NOBODY, password]).decode())


def opened(seal: Seal, kept: bytes | None) -> tuple[str, str] | None:
    """User name and password as they were given. Raises Unreadable."""
    return msgspec.json.decode(seal.open(kept), type=tuple[str, str]) if kept is not None else None


def resealed(seal: Seal, kept: bytes | None, username: str | None, password: str | None) -> bytes | None:
    """The same with another user name or password; None leaves one as it was."""
    try:
        held = opened(seal, kept) or ("", "")
    except Unreadable:
        held = ("", "")
    return sealed(seal, held[0] if username is None else username, held[1] if password is None else password)


async def request(
    tx: Tx, jobs: Jobs, seal: Seal, owner: Any, who_id: int, wanted: NewMigration, *, shard: str, most: int
) -> Any:
    """Write down a repository of ``owner``, who may have ``most``, that is to be brought over; its row.

    Raises Conflict for a taken name, Denied.
    """
    await require_room(tx, owner.id, most)
    repository_id = await repositories.add(
        tx,
        owner_id=owner.id,
        name=wanted.name,
        description=wanted.description,
        private=wanted.private,
        mirror=wanted.mirror,
        default_branch=wanted.default_branch,
        shard=shard,
        state="forking",
    )
    if repository_id is None:
        raise Conflict(f"{owner.login} has a repository {wanted.name!r} already")
    kept = sealed(seal, wanted.source.username, wanted.source.password)
    await remotes.add(tx, repository_id, url=wanted.source.url, sealed=kept, user_id=who_id)
    if wanted.mirror:
        await remotes.add_mirror(tx, repository_id, interval_seconds=wanted.interval)
    await jobs.add(tx, job_kind(MIGRATE, shard), repository_id, Migrate(repository_id))
    await marks.put(tx, "watch", repository_id, who_id)
    return await existing(tx, repository_id)


async def complete(
    tx: Tx, jobs: Jobs, job: Job, viewing: Viewing, row: Any, *, tips: dict[str, str], main: str, size: int
) -> bool:
    """The commits are there: open the repository, announce it, end the job. False when nobody wants it any more."""
    ended = await remotes.change_migration(
        tx, row.id, ("running",), state="done", phase="done", percent=100, reason="", finished_at=now()
    )
    if not ended:
        return False
    await repositories.change(tx, row.id, state="ready", empty=not tips, default_branch=main, size=size)
    await refs.record(tx, row.id, dict(tips))
    remote = await remotes.get(tx, row.id)
    if row.mirror:
        await mirrors.begin(tx, jobs, row)
    else:
        await remotes.change(tx, row.id, sealed=None)
    await jobs.finish(tx, job)
    opened_row = await existing(tx, row.id)
    repository = viewing.repository(opened_row)
    asker = await accounts.get(tx, remote.user_id) if remote is not None else None
    tx.emit(
        RepositoryCreated(
            repository=repository,
            sender=user(asker) if asker else repository.owner,
            owner_kind=opened_row.owner_kind,
        ),
        key=row.id,
    )
    return True


async def fail(tx: Tx, jobs: Jobs, job: Job, repository_id: int, reason: Reason) -> None:
    """End the job and say why; the repository stays, marked, until it is started again or deleted."""
    if await remotes.change_migration(
        tx, repository_id, remotes.UNENDED, state="failed", reason=reason, finished_at=now()
    ):
        await repositories.change(tx, repository_id, state="failed")
    await jobs.fail(tx, job, reason)


async def stop(tx: Tx, jobs: Jobs, job: Job, repository_id: int) -> None:
    """End the job of a migration that was cancelled or deleted, or begin anew if it was started again meanwhile."""
    row = await remotes.get_migration(tx, repository_id)
    again = row is not None and row.state == "waiting"
    await jobs.finish(tx, job, again_at=now() if again else None)


async def cancel(tx: Tx, repository_id: int) -> None:
    """Stop a migration; whoever runs it sees that within a second. Raises Conflict when it has ended."""
    if not await remotes.change_migration(
        tx, repository_id, remotes.UNENDED, state="cancelled", reason="cancelled", finished_at=now()
    ):
        raise Conflict("the migration has ended")
    await repositories.change(tx, repository_id, state="failed")


async def restart(tx: Tx, jobs: Jobs, row: Any) -> None:
    """Start a failed or cancelled migration again. Raises Conflict for any other."""
    if not await remotes.change_migration(
        tx,
        row.id,
        ("failed", "cancelled"),
        state="waiting",
        phase="",
        percent=0,
        received=0,
        reason="",
        finished_at=None,
    ):
        raise Conflict("the migration runs or is done")
    await repositories.change(tx, row.id, state="forking")
    await jobs.add(tx, job_kind(MIGRATE, row.shard), row.id, Migrate(row.id))
