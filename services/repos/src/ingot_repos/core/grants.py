"""Adds collaborators and teams to a repository, and announces them by ``AccessChanged``."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied
from ingot_contracts.repos import AccessChanged
from ingot_repos.store import collaborations

MOST_GRANTS = 10_000
"""Collaborators, and teams, of one repository: ``AccessChanged`` names all of them.

With 20 bytes for each the event has less than half of the size that it may have. So no lock is taken: a few more, by
requests at the same time, do no harm.
"""


async def add_collaborator(tx: Tx, repository_id: int, user_id: int, mode: str | None) -> None:
    """Add a collaborator, or change the permission of one. Raises Denied when there are ``MOST_GRANTS``."""
    await collaborations.save(tx, repository_id, user_id, mode)
    if await collaborations.count_users(tx, repository_id) > MOST_GRANTS:
        raise Denied(f"the repository has {MOST_GRANTS} collaborators, and may have no more")
    await announce_access(tx, repository_id)


async def add_team(tx: Tx, repository_id: int, team_id: int) -> None:
    """Give a repository to a team. Raises Denied when ``MOST_GRANTS`` teams have it."""
    await collaborations.grant(tx, repository_id, team_id)
    if await collaborations.count_teams(tx, repository_id) > MOST_GRANTS:
        raise Denied(f"the repository has {MOST_GRANTS} teams, and may have no more")
    await announce_access(tx, repository_id)


async def announce_access(tx: Tx, repository_id: int) -> None:
    """Announce all collaborators and teams of a repository, after one of them changed."""
    tx.emit(
        AccessChanged(
            repository_id=repository_id,
            collaborators=await collaborations.user_ids(tx, repository_id),
            teams=await collaborations.team_ids(tx, repository_id),
        ),
        key=repository_id,
    )
