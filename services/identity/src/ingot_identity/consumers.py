"""Events of repos: who owns which repository, which decides whether an account can be deleted, and who sees it."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Subscriptions
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.identity import OwnershipForgotten
from ingot_contracts.repos import (
    AccessChanged,
    RepositoryAbandoned,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryEdited,
)
from ingot_identity.core import account_deletion
from ingot_identity.core.presenter import Presenter
from ingot_identity.store import repositories


class EventSubscriptions:
    """A method for each event."""

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
        await repositories.remove(tx, event.repository.id)
        tx.emit(OwnershipForgotten(repository_id=event.repository.id), key=event.repository.id)

    async def on_repository_abandoned(self, tx: Tx, event: RepositoryAbandoned, _envelope: Envelope) -> None:
        await repositories.remove(tx, event.repository_id)

    async def on_access_changed(self, tx: Tx, event: AccessChanged, _envelope: Envelope) -> None:
        await repositories.save_access(
            tx, event.repository_id, collaborators=event.collaborators, teams=event.teams
        )
