"""Events of repos: owners of repositories, which prevent deletions, and access to repositories."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Subscriptions
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.identity.events import OwnershipForgotten
from ingot_contracts.repos.events import (
    AccessChanged,
    RepositoryAbandoned,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryEdited,
)
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.deletions import rules as account_deletion
from ingot_identity.repositories import store as repositories


class EventSubscriptions:
    """Event handlers, one method per event."""

    def __init__(self, presenter: Presenter) -> None:
        self._presenter = presenter

    def subscriptions(self) -> Subscriptions:
        return {
            RepositoryCreated: self.on_repository_created,
            RepositoryEdited: self.on_repository_edited,
            RepositoryDeleted: self.on_repository_deleted,
            RepositoryAbandoned: self.on_repository_abandoned,
            AccessChanged: self.on_access_changed,
        }

    async def on_repository_created(self, tx: Tx, event: RepositoryCreated, _envelope: Envelope) -> None:
        await account_deletion.save_repository(tx, self._presenter, event.repository)

    async def on_repository_edited(self, tx: Tx, event: RepositoryEdited, _envelope: Envelope) -> None:
        await account_deletion.save_repository(tx, self._presenter, event.repository)

    async def on_repository_deleted(self, tx: Tx, event: RepositoryDeleted, _envelope: Envelope) -> None:
        await account_deletion.forget_repository(tx, event.repository.id)
        tx.emit(OwnershipForgotten(repository_id=event.repository.id), key=event.repository.id)

    async def on_repository_abandoned(self, tx: Tx, event: RepositoryAbandoned, _envelope: Envelope) -> None:
        await account_deletion.forget_repository(tx, event.repository_id)

    async def on_access_changed(self, tx: Tx, event: AccessChanged, _envelope: Envelope) -> None:
        await repositories.save_access(
            tx, event.repository_id, collaborators=event.collaborators, teams=event.teams
        )
