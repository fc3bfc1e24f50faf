"""Events of repos: who owns repositories, which decides whether an account can be deleted."""

from ingot_chassis.database import Tx
from ingot_chassis.events import Envelope
from ingot_chassis.inbox import Subscriptions
from ingot_contracts.repos import RepositoryCreated, RepositoryDeleted, RepositoryEdited
from ingot_identity.core import departures
from ingot_identity.core.views import Viewing
from ingot_identity.store import departures as store


class Following:
    """Handlers of events."""

    def __init__(self, viewing: Viewing) -> None:
        self._viewing = viewing

    def subscriptions(self) -> Subscriptions:
        return {
            RepositoryCreated: self.repository_owned,
            RepositoryEdited: self.repository_owned,
            RepositoryDeleted: self.repository_deleted,
        }

    async def repository_owned(
        self, tx: Tx, event: RepositoryCreated | RepositoryEdited, _envelope: Envelope
    ) -> None:
        owner = event.repository.owner.id
        await departures.repository_owned(tx, self._viewing, event.repository.id, owner)

    async def repository_deleted(self, tx: Tx, event: RepositoryDeleted, _envelope: Envelope) -> None:
        await store.remove_owner(tx, event.repository.id)
