"""Counts of the open issues and pull requests of a repository, for the services that show them."""

from ingot_chassis.db.transaction import Tx
from ingot_contracts.issues.events import OpenIssuesCounted
from ingot_issues.repositories.rules.announcements import emit
from ingot_issues.repositories.store import counters


async def announce_open_counts(tx: Tx, repository_id: int) -> bool:
    """Announce the counts of a repository if they have changed. Return True if they were announced."""
    row = await counters.take_changed(tx, repository_id)
    if row is None:
        return False
    event = OpenIssuesCounted(
        repository_id=repository_id, open_issues=row.open_issues, open_pulls=row.open_pulls
    )
    emit(tx, event, repository_id)
    return True
