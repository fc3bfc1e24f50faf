"""Deletion of repositories. Files are removed after every service has confirmed the deletion."""

from datetime import timedelta

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import RepositoryAbandoned, RepositoryDeleted
from ingot_repos.catalog.store import repositories, wikis
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.presentation.rules.presenter import Presenter, owner_kind
from ingot_repos.repositories.store import tombstones

REMOVE = "remove"
PURGE = "purge"
"""The job that deletes all repositories of an account. Its payload is the event that requested it."""
DELETE_ALL = "delete-all"
"""The job that deletes the present repositories of an organization."""
AWAITED = ("hooks", "identity", "issues")
CONFIRMATION_TIME = timedelta(days=7)
"""The retention time of events. After it, a service that has not received the deletion never will."""


class Remove(msgspec.Struct, frozen=True):
    """The job that removes the files of a deleted repository."""

    repository_id: int


class DeleteAll(msgspec.Struct, frozen=True, kw_only=True):
    """A job that deletes the repositories of an account that existed at the time of the request.

    Their ids are at most ``newest_id``.
    """

    account_id: int
    newest_id: int
    requested_by: User


async def request_deletion_of_all(tx: Tx, jobs: Jobs, account_id: int, requested_by: User) -> bool:
    """Add the job that deletes the current repositories of an account. Return False if there are none."""
    newest_id = await repositories.newest_of(tx, account_id)
    if newest_id is None:
        return False
    job = DeleteAll(account_id=account_id, newest_id=newest_id, requested_by=requested_by)
    await jobs.add(tx, DELETE_ALL, f"{account_id}:{newest_id}", job)
    return True


async def delete(tx: Tx, jobs: Jobs, presenter: Presenter, row: RepositoryRow, sender: User) -> None:
    """Delete a repository. A job deletes its files later. Raises NotFound if it no longer exists.

    ``row`` may be outdated: shard and state are read again.
    """
    removed = await repositories.remove(tx, row.id)
    if removed is None:
        raise NotFound
    was_ready = removed.state == RepositoryState.READY
    wiki = await wikis.remove(tx, row.id)
    if wiki is not None:
        await release(tx, jobs, wiki.id, wiki.shard)
    if row.fork_of is not None:
        await repositories.count_forks(tx, row.fork_of)
    await write_tombstone(tx, jobs, row.id, removed.shard, was_ready=was_ready)
    if was_ready:
        tx.emit(
            RepositoryDeleted(
                repository=presenter.repository(row), sender=sender, owner_kind=owner_kind(row)
            ),
            key=row.id,
        )
    else:
        tx.emit(RepositoryAbandoned(repository_id=row.id), key=row.id)


async def write_tombstone(tx: Tx, jobs: Jobs, repository_id: int, shard: str, *, was_ready: bool) -> None:
    """Record a deleted repository whose files are on ``shard``.

    If it was never ready, other services have no data of it, and its files are released now.
    """
    if was_ready:
        await tombstones.add(tx, repository_id, shard, AWAITED)
    else:
        await release(tx, jobs, repository_id, shard)


async def confirm(tx: Tx, jobs: Jobs, service: str, repository_id: int) -> None:
    """Record that a service has deleted its data of a repository.

    After the last service, a job removes the files.
    """
    shard = await tombstones.confirm(tx, repository_id, service)
    if shard is not None:
        await release(tx, jobs, repository_id, shard)


async def release(tx: Tx, jobs: Jobs, repository_id: int, shard: str) -> None:
    """Schedule a job that removes the files."""
    await jobs.add(tx, job_kind(REMOVE, shard), repository_id, Remove(repository_id))
