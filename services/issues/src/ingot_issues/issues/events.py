"""Handlers of events that change issues."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.repos.events import RepositoryDeleted
from ingot_issues.records.store import issues, timeline
from ingot_issues.repositories.store import counters


async def remove_all(tx: Tx, event: RepositoryDeleted, _envelope: Envelope) -> None:
    await counters.lock(tx, event.repository.id)
    await timeline.remove_all(tx, event.repository.id)
    await issues.remove_all(tx, event.repository.id)


SUBSCRIPTIONS: Mapping[type[msgspec.Struct], Handler] = {RepositoryDeleted: remove_all}
