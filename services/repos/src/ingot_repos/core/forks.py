"""Forking: metadata at once, commits by a job that survives whoever runs it."""

from typing import Any

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.errors import Conflict
from ingot_chassis.jobs import Job, Jobs
from ingot_contracts.repos import ForkRequested, RepositoryCreated, RepositoryForked
from ingot_repos.core.limits import require_room
from ingot_repos.core.repositories import existing, is_hidden
from ingot_repos.core.shards import job_kind
from ingot_repos.core.views import Viewing, user
from ingot_repos.store import accounts, marks, refs, repositories

FORK = "fork"


class Fork(msgspec.Struct, frozen=True):
    """The job that copies the commits."""

    repository_id: int
    parent_id: int
    user_id: int


async def request(tx: Tx, jobs: Jobs, parent: Any, owner: Any, who_id: int, name: str, *, most: int) -> Any:
    """Write down a fork of ``parent`` for ``owner``, who may have ``most``; its row. Raises Conflict, Denied."""
    if owner.id == parent.owner_id:
        raise Conflict("a repository cannot be forked to its own owner")
    # Held, so that two requests at once do not both find that there is no fork yet.
    await repositories.hold(tx, parent.id)
    if await repositories.fork_of(tx, owner.id, parent.id) is not None:
        raise Conflict(f"{owner.login} has a fork of it already")
    await require_room(tx, owner.id, most)
    repository_id = await repositories.add(
        tx,
        owner_id=owner.id,
        name=name,
        description=parent.description,
        website=parent.website,
        private=is_hidden(parent),
        empty=parent.empty,
        default_branch=parent.default_branch,
        fork_of=parent.id,
        shard=parent.shard,
        state="forking",
    )
    if repository_id is None:
        raise Conflict(f"{owner.login} has a repository {name!r} already")
    await jobs.add(tx, job_kind(FORK, parent.shard), repository_id, Fork(repository_id, parent.id, who_id))
    await marks.put(tx, "watch", repository_id, who_id)
    tx.emit(ForkRequested(repository_id=repository_id, parent_id=parent.id), key=repository_id)
    return await existing(tx, repository_id)


async def complete(
    tx: Tx, jobs: Jobs, job: Job, wanted: Fork, viewing: Viewing, *, tips: dict[str, str], size: int
) -> bool:
    """The commits are there: open the fork, count it, announce it, end the job. False when it was deleted."""
    parent = await repositories.get_raw(tx, wanted.parent_id)
    found: dict[str, Any] = {"state": "ready", "empty": not tips, "size": size}
    if parent is not None and is_hidden(parent):
        found["private"] = True  # maybe only since the fork was asked for
    if not await repositories.change(tx, wanted.repository_id, **found):
        await jobs.finish(tx, job)
        return False
    await refs.record(tx, wanted.repository_id, dict(tips))
    await repositories.count_forks(tx, wanted.parent_id)
    await jobs.finish(tx, job)
    row = await existing(tx, wanted.repository_id)
    forker = await accounts.get(tx, wanted.user_id)
    forkee = viewing.repository(parent) if parent is not None else None
    fork = viewing.repository(row, parent=forkee)
    sender = user(forker) if forker else fork.owner
    if forkee is not None:
        tx.emit(
            RepositoryForked(forkee=forkee, repository=fork, sender=sender),
            key=wanted.repository_id,
        )
    tx.emit(
        RepositoryCreated(repository=fork, sender=sender, owner_kind=row.owner_kind),
        key=wanted.repository_id,
    )
    return True


async def give_up(tx: Tx, repository_id: int) -> None:
    """What was to be forked is gone: the fork stays, marked, until its owner deletes it."""
    await repositories.change(tx, repository_id, state="failed")
