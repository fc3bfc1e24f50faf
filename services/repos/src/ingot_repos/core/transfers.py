"""Giving a repository to another owner. Its files stay where they are: their path follows from its id."""

from collections.abc import Sequence
from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.identity import User
from ingot_repos.core.grants import announce_access
from ingot_repos.core.limits import require_room
from ingot_repos.core.repositories import announce_edit
from ingot_repos.core.views import Viewing
from ingot_repos.store import collaborations, repositories


async def transfer(
    tx: Tx, viewing: Viewing, row: Any, new_owner: Any, sender: User, team_ids: Sequence[int], *, most: int
) -> None:
    """Let ``new_owner`` (an account) own the repository; its old path leads there. Raises Invalid, Denied.

    Collaborators stay, teams of the former owner lose it, and ``team_ids`` are teams of the new one that get it.
    """
    if new_owner.id == row.owner_id:
        raise Invalid.field("new_owner", "owner", "owns the repository")
    await require_room(tx, new_owner.id, most)
    if not await repositories.move(tx, row, owner_id=new_owner.id, name=row.name):
        raise Invalid.field("new_owner", "taken", f"{new_owner.login} has a repository {row.name!r} already")
    await collaborations.remove(tx, row.id, new_owner.id)
    await collaborations.revoke_all(tx, row.id)
    for team_id in team_ids:
        await collaborations.grant(tx, row.id, team_id)
    await announce_edit(tx, viewing, row, sender)
    await announce_access(tx, row.id)
