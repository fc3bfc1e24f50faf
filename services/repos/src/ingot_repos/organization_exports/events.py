"""The event that ends the exports of an organization."""

from collections.abc import Mapping
from functools import partial

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.events import OrganizationDeleted
from ingot_repos.organization_exports import rules


def subscriptions(jobs: Jobs) -> Mapping[type[msgspec.Struct], Handler]:
    """Return the handlers by type of event."""
    return {OrganizationDeleted: partial(_remove_exports, jobs)}


async def _remove_exports(jobs: Jobs, tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
    """Delete the exports of the organization with their archives: no route reaches them any more."""
    await rules.remove_all(tx, jobs, event.organization_id)
