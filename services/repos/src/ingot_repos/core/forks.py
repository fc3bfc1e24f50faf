"""Forks: the metadata is there at once, the commits follow by a job that survives the process that runs it."""

from typing import Any

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_contracts.repos import ForkRequested, RepositoryCreated, RepositoryForked
from ingot_repos.core.job_kinds import job_kind
from ingot_repos.core.limits import require_room
from ingot_repos.core.presenter import Presenter, as_user, owner_kind
from ingot_repos.core.repositories import current_row, is_hidden
from ingot_repos.store import accounts, lfs_objects, refs, repositories, shards, stars_and_watches
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.stars_and_watches import WATCHES
from ingot_repos.store.states import RepositoryState

FORK = "fork"


class Fork(msgspec.Struct, frozen=True):
    """The job that copies the commits."""

    repository_id: int
    parent_id: int
    user_id: int


async def request(
    tx: Tx, jobs: Jobs, parent: RepositoryRow, owner: AccountRow, user_id: int, name: str, *, most: int
) -> RepositoryRow:
    """Add a fork of ``parent`` for ``owner``, who may have ``most`` repositories; its row. Raises Conflict, Denied."""
    if owner.id == parent.owner_id:
        raise Conflict("a repository cannot be forked to its own owner")
    # So that of two requests at the same time one sees the fork of the other.
    await repositories.lock_for_update(tx, parent.id)
    place = await shards.place(tx, parent.id)
    if place is None:
        raise NotFound
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
        language=parent.language,
        licenses=None if parent.licenses == "[]" else parent.licenses,  # maybe they were never read
        branch_count=parent.branch_count,
        fork_of=parent.id,
        shard=place.shard,
        state=RepositoryState.FORKING,
    )
    if repository_id is None:
        raise Conflict(f"{owner.login} has a repository {name!r} already")
    await jobs.add(tx, job_kind(FORK, place.shard), repository_id, Fork(repository_id, parent.id, user_id))
    await stars_and_watches.add(tx, WATCHES, repository_id, user_id)
    tx.emit(ForkRequested(repository_id=repository_id, parent_id=parent.id), key=repository_id)
    return await current_row(tx, repository_id)


async def complete(
    tx: Tx, jobs: Jobs, job: Job, fork_job: Fork, presenter: Presenter, *, tips: dict[str, str], size: int
) -> bool:
    """The commits are there: make the fork ready, count and announce it, end the job. False when it was deleted."""
    parent = await repositories.get_unfiltered(tx, fork_job.parent_id)
    values: dict[str, Any] = {"state": RepositoryState.READY, "empty": not tips, "size": size}
    if parent is not None and is_hidden(parent):
        values["private"] = True  # maybe only since the fork was requested
    if not await repositories.change(tx, fork_job.repository_id, **values):
        await jobs.finish(tx, job)
        return False
    await refs.record(tx, fork_job.repository_id, dict(tips))
    if await lfs_objects.has_any(tx, fork_job.parent_id):
        await lfs_objects.copy_links(tx, fork_job.parent_id, fork_job.repository_id)
    await repositories.count_forks(tx, fork_job.parent_id)
    await jobs.finish(tx, job)
    row = await current_row(tx, fork_job.repository_id)
    forker = await accounts.get(tx, fork_job.user_id)
    forkee = presenter.repository(parent) if parent is not None else None
    fork = presenter.repository(row, parent=forkee)
    sender = as_user(forker) if forker else fork.owner
    if forkee is not None:
        tx.emit(
            RepositoryForked(forkee=forkee, repository=fork, sender=sender),
            key=fork_job.repository_id,
        )
    tx.emit(
        RepositoryCreated(repository=fork, sender=sender, owner_kind=owner_kind(row)),
        key=fork_job.repository_id,
    )
    return True


async def give_up(tx: Tx, repository_id: int) -> bool:
    """The parent was deleted before it was copied, or is damaged: the fork stays, as failed, until somebody deletes it.

    False when somebody has.
    """
    return await repositories.change(tx, repository_id, state=RepositoryState.FAILED)
