"""Creation of forks. The row is added at once. A job copies the commits, also after a restart."""

from typing import Any

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_contracts.repos.access import reaches
from ingot_contracts.repos.events import ForkRequested, RepositoryCreated, RepositoryForked
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import principal_of
from ingot_repos.catalog.rules.limits import require_room
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.lfs.store import objects as lfs_objects
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.placement.store import shards
from ingot_repos.presentation.rules.announcements import current_row, is_hidden
from ingot_repos.presentation.rules.presenter import Presenter, as_user, owner_kind
from ingot_repos.pushes.store import refs
from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import WATCHES

FORK = "fork"


class Fork(msgspec.Struct, frozen=True):
    """A job that copies the commits of a fork from its parent."""

    repository_id: int
    parent_id: int
    user_id: int


async def request(
    tx: Tx, jobs: Jobs, parent: RepositoryRow, owner: AccountRow, user_id: int, name: str, *, most: int
) -> RepositoryRow:
    """Add a fork of ``parent`` and return its row. ``most`` is the owner's limit of repositories.

    Raises Conflict, Denied.
    """
    if owner.id == parent.owner_id:
        raise Conflict("a repository cannot be forked to its own owner")
    # One of two concurrent requests must see the fork of the other.
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
        # empty may mean that they were never read
        licenses=None if parent.licenses == "[]" else parent.licenses,
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


async def is_allowed(db: Database, identity: HttpIdentity, fork_job: Fork) -> bool:
    """Return whether the forker may read the parent and belongs to the owner of the fork.

    True also if the fork or its parent was deleted, which the job handles later. Raises Unavailable.
    """
    principal = await principal_of(identity, fork_job.user_id)
    async with db.read() as reader:
        fork = await repositories.get_unfiltered(reader, fork_job.repository_id)
        parent = await repositories.get(reader, access.viewer(principal), fork_job.parent_id)
        if parent is None and await repositories.get_unfiltered(reader, fork_job.parent_id) is None:
            return True  # the fork was deleted, which is handled elsewhere
    if fork is None:
        return True  # as above
    is_owner = principal.admin or fork.owner_id == principal.id or fork.owner_id in principal.organizations
    is_reader = parent is not None and reaches(access.level(parent, principal), "read")
    return principal.signed_in and is_owner and is_reader


async def complete(
    tx: Tx, jobs: Jobs, job: Job, fork_job: Fork, presenter: Presenter, *, tips: dict[str, str], size: int
) -> bool:
    """Mark the fork as ready, count and announce it, and end the job.

    Return False if the fork was deleted.
    """
    parent = await repositories.get_unfiltered(tx, fork_job.parent_id)
    values: dict[str, Any] = {"state": RepositoryState.READY, "empty": not tips, "size": size}
    if parent is not None and is_hidden(parent):
        values["private"] = True  # the parent may have become private after the request
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


async def give_up(tx: Tx, fork_job: Fork) -> bool:
    """Mark a fork as failed. Return False if it was deleted.

    Call this if the parent was deleted or is damaged, or if the forker lost access. The fork stays until it
    is deleted.
    """
    values: dict[str, Any] = {"state": RepositoryState.FAILED}
    parent = await repositories.get_unfiltered(tx, fork_job.parent_id)
    if parent is not None and is_hidden(parent):
        values["private"] = True  # hide the metadata of the parent in the fork, too
    return await repositories.change(tx, fork_job.repository_id, **values)
