"""Changes of collaborators and teams. Each change is announced by ``AccessChanged``."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied
from ingot_contracts.repos.events import AccessChanged
from ingot_repos.access.store import collaborations

MOST_GRANTS = 10_000
"""Limit of collaborators and of teams per repository, because ``AccessChanged`` names all of them.

At 20 bytes each, the event stays below half of its maximum size. Concurrent requests may exceed the limit a
little, which is harmless, so no lock is taken.
"""


async def add_collaborator(tx: Tx, repository_id: int, user_id: int, mode: str | None) -> None:
    """Add a collaborator or change a permission. Raises Denied above ``MOST_GRANTS``."""
    await collaborations.save(tx, repository_id, user_id, mode)
    if await collaborations.count_users(tx, repository_id) > MOST_GRANTS:
        raise Denied(f"the repository has {MOST_GRANTS} collaborators, which is the limit; remove one first")
    await announce_access(tx, repository_id)


async def add_team(tx: Tx, repository_id: int, team_id: int) -> None:
    """Give a repository to a team. Raises Denied above ``MOST_GRANTS``."""
    await collaborations.grant(tx, repository_id, team_id)
    if await collaborations.count_teams(tx, repository_id) > MOST_GRANTS:
        raise Denied(f"the repository has {MOST_GRANTS} teams, which is the limit; remove one first")
    await announce_access(tx, repository_id)


async def announce_access(tx: Tx, repository_id: int) -> None:
    """Announce all collaborators and teams of a repository after a change."""
    tx.emit(
        AccessChanged(
            repository_id=repository_id,
            collaborators=await collaborations.user_ids(tx, repository_id),
            teams=await collaborations.team_ids(tx, repository_id),
        ),
        key=repository_id,
    )
