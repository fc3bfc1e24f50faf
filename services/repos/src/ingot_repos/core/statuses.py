"""What other systems say of commits, and telling of it."""

from typing import Any

from ingot_chassis.database import Tx
from ingot_contracts.identity import GHOST, User
from ingot_contracts.repos import CommitStatus, StatusCreated
from ingot_repos.core.repositories import existing
from ingot_repos.core.views import Viewing, user
from ingot_repos.store import statuses


async def say(
    tx: Tx, viewing: Viewing, repository_id: int, sha: str, creator: Any, **said: str
) -> CommitStatus:
    """Add a status to a commit and announce it. Raises Conflict when the repository was deleted meanwhile."""
    row = await existing(tx, repository_id)
    added = await statuses.add(tx, repository_id, sha, creator_id=creator.id, **said)
    status = view(viewing, f"{row.owner_login}/{row.name}", added)
    tx.emit(
        StatusCreated(repository=viewing.repository(row), sender=user(creator), sha=sha, status=status),
        key=repository_id,
    )
    return status


def view(viewing: Viewing, full_name: str, row: Any) -> CommitStatus:
    """A status of the repository ``full_name`` as the API shows it."""
    creator = GHOST
    if row.login is not None:
        creator = User(
            id=row.creator_id,
            login=row.login,
            full_name=row.full_name,
            email=viewing.email(row.email),
            avatar_url=row.avatar_url,
        )
    at = row.created_at.replace(microsecond=0)
    return CommitStatus(
        id=row.number,
        status=row.state,
        target_url=row.target_url,
        description=row.description,
        url=f"{viewing.root}api/v1/repos/{full_name}/statuses/{row.sha}",
        context=row.context,
        creator=creator,
        created_at=at,
        updated_at=at,
    )
