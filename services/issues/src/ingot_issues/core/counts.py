"""How many issues and pull requests are open, told to who shows it with the repository."""

from ingot_chassis.database import Tx
from ingot_contracts.issues import OpenIssuesCounted
from ingot_issues.store import repositories


async def tell_count(tx: Tx, repository_id: int) -> bool:
    """Tell the counts of a repository, unless they were told since they changed."""
    counted = await repositories.take_untold(tx, repository_id)
    if counted is None:
        return False
    told = OpenIssuesCounted(
        repository_id=repository_id, open_issues=counted.open_issues, open_pulls=counted.open_pulls
    )
    tx.emit(told, key=repository_id)
    return True
