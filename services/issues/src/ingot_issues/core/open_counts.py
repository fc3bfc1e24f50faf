"""How many issues and pull requests of a repository are open, for the services that show it."""

from ingot_chassis.db.transaction import Tx
from ingot_contracts.issues import OpenIssuesCounted
from ingot_issues.core.events import emit
from ingot_issues.store import counters


async def announce_open_counts(tx: Tx, repository_id: int) -> bool:
    """Announce the counts of a repository, unless another process has announced them since they changed."""
    row = await counters.take_changed(tx, repository_id)
    if row is None:
        return False
    event = OpenIssuesCounted(
        repository_id=repository_id, open_issues=row.open_issues, open_pulls=row.open_pulls
    )
    emit(tx, event, repository_id)
    return True
