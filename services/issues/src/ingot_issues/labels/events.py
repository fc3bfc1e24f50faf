"""Handlers of events that change labels."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.identity.events import OrganizationDeleted
from ingot_contracts.repos.events import RepositoryCreated, RepositoryDeleted, RepositoryEdited
from ingot_issues.access.rules.repositories import is_transfer
from ingot_issues.labels.store import organization, repository
from ingot_issues.repositories.store import counters


async def remove_of_organization(tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
    await organization.remove_all(tx, event.organization_id)


async def add_first(tx: Tx, event: RepositoryCreated, _envelope: Envelope) -> None:
    """Add the initial labels of a new repository."""
    if not event.labels and not event.labels_of:
        return
    # Labels of organizations have no repository: 0 would stand for all organizations.
    more = await repository.list_all(tx, event.labels_of) if event.labels_of else []
    first = [
        {name: getattr(one, name) for name in ("name", "color", "description", "exclusive")}
        for one in (*event.labels, *more)
    ]
    await repository.add_missing(tx, event.repository.id, first)


async def remove_foreign(tx: Tx, event: RepositoryEdited, _envelope: Envelope) -> None:
    """Remove labels of the former owner from the issues of a transferred repository."""
    owner = event.repository.owner
    if is_transfer(event):
        await organization.remove_foreign(tx, event.repository.id, owner.id)


async def remove_of_repository(tx: Tx, event: RepositoryDeleted, _envelope: Envelope) -> None:
    await counters.lock(tx, event.repository.id)
    await repository.remove_all(tx, event.repository.id)


SUBSCRIPTIONS: Mapping[type[msgspec.Struct], Handler] = {
    OrganizationDeleted: remove_of_organization,
    RepositoryCreated: add_first,
    RepositoryEdited: remove_foreign,
    RepositoryDeleted: remove_of_repository,
}
