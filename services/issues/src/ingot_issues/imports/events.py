"""Events that begin and end imports."""

from collections.abc import Mapping
from functools import partial

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.events import ImportFetched, ImportReassigned, RepositoryDeleted
from ingot_issues.imports.rules.pages import IMPORT, ReadPages
from ingot_issues.imports.rules.placeholders import REASSIGN, ReassignPeople
from ingot_issues.imports.store import objects as store
from ingot_issues.imports.store import placeholders


def subscriptions(jobs: Jobs) -> Mapping[type[msgspec.Struct], Handler]:
    """Return the handlers by type of event."""
    return {
        ImportFetched: partial(_begin, jobs),
        ImportReassigned: partial(_reassign, jobs),
        RepositoryDeleted: _remove,
    }


async def _begin(jobs: Jobs, tx: Tx, event: ImportFetched, _envelope: Envelope) -> None:
    """Add the job that imports issues. A restarted import continues at its cursor."""
    repository_id = event.repository.id
    if event.repeat:
        await store.begin_repeat(tx, repository_id, event.repeat)
    await jobs.add(tx, IMPORT, repository_id, ReadPages(repository_id=repository_id))


async def _reassign(jobs: Jobs, tx: Tx, event: ImportReassigned, envelope: Envelope) -> None:
    """Add the job that moves the work of people at the source from the ghost to their accounts."""
    job = ReassignPeople(repository_id=event.repository_id, accounts=event.accounts)
    await jobs.add(tx, REASSIGN, f"{event.repository_id}:{envelope.id}", job)


async def _remove(tx: Tx, event: RepositoryDeleted, _envelope: Envelope) -> None:
    await store.remove_all(tx, event.repository.id)
    await placeholders.remove_of_repository(tx, event.repository.id)
