"""Handlers of events that change tracked times."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.repos.events import RepositoryDeleted
from ingot_issues.repositories.store import counters
from ingot_issues.times.store import tracked as times


async def remove_all(tx: Tx, event: RepositoryDeleted, _envelope: Envelope) -> None:
    await counters.lock(tx, event.repository.id)
    await times.remove_all(tx, event.repository.id)


SUBSCRIPTIONS: Mapping[type[msgspec.Struct], Handler] = {RepositoryDeleted: remove_all}
