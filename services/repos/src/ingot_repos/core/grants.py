"""Telling who was let in."""

from ingot_chassis.database import Tx
from ingot_contracts.repos import AccessChanged
from ingot_repos.store import collaborations


async def announce_access(tx: Tx, repository_id: int) -> None:
    """Tell everybody whom a repository lets in by name, after that changed."""
    tx.emit(
        AccessChanged(
            repository_id=repository_id,
            collaborators=await collaborations.user_ids(tx, repository_id),
            teams=await collaborations.team_ids(tx, repository_id),
        ),
        key=repository_id,
    )
