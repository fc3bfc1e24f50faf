"""How many issues and pull requests are open, told to who shows it with the repository."""

from ingot_chassis.database import Tx
from ingot_contracts.issues import OpenIssuesCounted
from ingot_issues.store import repositories


async def tell_counts(tx: Tx, limit: int) -> int:
    """Tell the counts that changed since they were told, of so many repositories at most; of how many it was."""
    taken = await repositories.take_untold(tx, limit)
    for counted in taken:
        told = OpenIssuesCounted(
            repository_id=counted.repository_id,
            open_issues=counted.open_issues,
            open_pulls=counted.open_pulls,
        )
        tx.emit(told, key=counted.repository_id)
    return len(taken)
