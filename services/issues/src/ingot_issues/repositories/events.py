"""Handlers of events that change the copies of repositories."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.issues.events import IssuesForgotten
from ingot_contracts.repos import events as repos
from ingot_issues.repositories.rules.announcements import emit
from ingot_issues.repositories.store import copies, counters


async def renew(tx: Tx, event: repos.RepositoryEdited, _envelope: Envelope) -> None:
    await copies.renew(tx, event.repository)


async def renew_after_push(tx: Tx, event: repos.PushReceived, _envelope: Envelope) -> None:
    if event.ref.startswith("refs/heads/"):
        await copies.renew(tx, event.repository)


async def save(
    tx: Tx, event: repos.RepositoryForked | repos.CommitsProposed | repos.ImportFetched, _envelope: Envelope
) -> None:
    """Save the copy of a repository. Forks need copies, because pull requests name a fork by its owner."""
    await copies.save(tx, event.repository)


async def remove(tx: Tx, event: repos.RepositoryDeleted, _envelope: Envelope) -> None:
    """Delete the copy, and reject later writes to the repository. Handlers of other subjects run before."""
    await counters.lock(tx, event.repository.id)
    await copies.remove(tx, event.repository.id)
    await counters.close(tx, event.repository.id)
    emit(tx, IssuesForgotten(repository_id=event.repository.id), event.repository.id)


SUBSCRIPTIONS: Mapping[type[msgspec.Struct], Handler] = {
    repos.RepositoryEdited: renew,
    repos.RepositoryForked: save,
    repos.ImportFetched: save,
    repos.RepositoryDeleted: remove,
    repos.PushReceived: renew_after_push,
    repos.CommitsProposed: save,
}
