"""The events that begin exports of repositories and organizations."""

from collections.abc import Mapping
from functools import partial

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.events import ExportRequested, OrganizationExportRequested
from ingot_issues.exports.rules import EXPORT, EXPORT_LABELS, SendLabels, SendPages


def subscriptions(jobs: Jobs) -> Mapping[type[msgspec.Struct], Handler]:
    """Return the handlers by type of event."""
    return {
        ExportRequested: partial(_begin, jobs),
        OrganizationExportRequested: partial(_begin_labels, jobs),
    }


async def _begin(jobs: Jobs, tx: Tx, event: ExportRequested, _envelope: Envelope) -> None:
    """Add the job of this export. An export that it replaced ends by itself."""
    await jobs.add(tx, EXPORT, event.name, SendPages(repository_id=event.repository_id, name=event.name))


async def _begin_labels(jobs: Jobs, tx: Tx, event: OrganizationExportRequested, _envelope: Envelope) -> None:
    """Add the job that sends the labels of the organization."""
    await jobs.add(
        tx, EXPORT_LABELS, event.name, SendLabels(organization_id=event.organization_id, name=event.name)
    )
