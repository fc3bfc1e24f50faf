"""The event that begins an export."""

from collections.abc import Mapping
from functools import partial

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.events import ExportRequested
from ingot_issues.exports.rules import EXPORT, SendPages


def subscriptions(jobs: Jobs) -> Mapping[type[msgspec.Struct], Handler]:
    """Return the handlers by type of event."""
    return {ExportRequested: partial(_begin, jobs)}


async def _begin(jobs: Jobs, tx: Tx, event: ExportRequested, _envelope: Envelope) -> None:
    """Add the job of this export. An export that it replaced ends by itself."""
    await jobs.add(tx, EXPORT, event.name, SendPages(repository_id=event.repository_id, name=event.name))
