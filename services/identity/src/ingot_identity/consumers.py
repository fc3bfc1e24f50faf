"""Events of repos: whose repositories are, which decides whether an account can be deleted, and who sees them."""

from ingot_chassis.database import Tx
from ingot_chassis.events import Envelope
from ingot_chassis.inbox import Subscriptions
from ingot_contracts.identity import OwnershipForgotten
from ingot_contracts.repos import (
    AccessChanged,
    RepositoryAbandoned,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryEdited,
)
from ingot_identity.core import departures
from ingot_identity.core.views import Viewing
from ingot_identity.store import repositories


class Following:
    """Handlers of events."""

    def __init__(self, viewing: Viewing) -> None:
        self._viewing = viewing

    def subscriptions(self) -> Subscriptions:
        return {
            RepositoryCreated: self.repository_owned,
            RepositoryEdited: self.repository_owned,
            RepositoryDeleted: self.repository_deleted,
            RepositoryAbandoned: self.repository_abandoned,
            AccessChanged: self.access_changed,
        }

    async def repository_owned(
        self, tx: Tx, event: RepositoryCreated | RepositoryEdited, _envelope: Envelope
    ) -> None:
        await departures.repository_owned(tx, self._viewing, event.repository)

    async def repository_deleted(self, tx: Tx, event: RepositoryDeleted, _envelope: Envelope) -> None:
        await repositories.remove(tx, event.repository.id)
        tx.emit(OwnershipForgotten(repository_id=event.repository.id), key=event.repository.id)

    async def repository_abandoned(self, tx: Tx, event: RepositoryAbandoned, _envelope: Envelope) -> None:
        await repositories.remove(tx, event.repository_id)

    async def access_changed(self, tx: Tx, event: AccessChanged, _envelope: Envelope) -> None:
        await repositories.put_access(
            tx, event.repository_id, collaborators=event.collaborators, teams=event.teams
        )
