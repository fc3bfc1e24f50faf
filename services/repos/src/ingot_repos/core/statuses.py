"""Adds statuses to commits, and announces them."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_contracts.repos import CommitStatus, StatusCreated
from ingot_repos.core.presenter import Presenter, as_user
from ingot_repos.core.repositories import current_row
from ingot_repos.store import statuses
from ingot_repos.store.accounts import AccountRow


async def add_status(
    tx: Tx, presenter: Presenter, repository_id: int, sha: str, creator: AccountRow, **columns: str
) -> CommitStatus:
    """Add a status to a commit and announce it. Raises Conflict when the repository was deleted meanwhile."""
    row = await current_row(tx, repository_id)
    status_row = await statuses.add(tx, repository_id, sha, creator_id=creator.id, **columns)
    if status_row is None:
        raise Conflict("the repository was deleted meanwhile")
    status = presenter.status(f"{row.owner_login}/{row.name}", status_row)
    tx.emit(
        StatusCreated(repository=presenter.repository(row), sender=as_user(creator), sha=sha, status=status),
        key=repository_id,
    )
    return status
