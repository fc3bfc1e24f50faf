"""Teams of an organization. The team Owners is made with it, and stays what it is."""

from collections.abc import Sequence
from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import CredentialsRevoked, TeamDeleted
from ingot_identity.core import names, organizations
from ingot_identity.core.holding import held
from ingot_identity.store import organizations as store

PERMISSIONS = ("read", "write", "admin")
UNITS = (
    "code",
    "issues",
    "pulls",
    "releases",
    "wiki",
    "ext_wiki",
    "ext_issues",
    "projects",
    "packages",
    "actions",
)
OWNER = "owner"


async def create(
    tx: Tx, organization_id: int, *, name: str, description: str, permission: str, units: Sequence[str]
) -> Any:
    """Create a team; an unknown permission counts as read. Raises Invalid."""
    names.check_team(name)
    await held(tx, organization_id)
    team_id = await store.add_team(
        tx,
        organization_id,
        name,
        description=description,
        permission=granted(permission),
        units=checked(units),
    )
    if team_id is None:
        raise Invalid.field("name", "taken", f"there is a team {name!r}")
    return await store.get_team(tx, team_id)


async def edit(tx: Tx, team_id: int, changes: dict[str, Any]) -> Any:
    """Change the columns named in ``changes`` and no others; the new row. Raises Invalid, NotFound."""
    team = await _locked(tx, team_id)
    changes = {column: value for column, value in changes.items() if value != getattr(team, column)}
    if team.permission == OWNER and changes.keys() & {"name", "permission", "units"}:
        raise Invalid.field("name", "owners", f"the team {team.name} keeps its name, permission and units")
    if "name" in changes:
        name = names.check_team(changes["name"])
        if await store.team_named(tx, team.organization_id, name) not in (None, team_id):
            raise Invalid.field("name", "taken", f"there is a team {name!r}")
    if "permission" in changes:
        changes["permission"] = granted(changes["permission"])
    await store.change_team(tx, team_id, **changes)
    if "permission" in changes:
        for user_id in await store.team_member_ids(tx, team_id):
            tx.emit(CredentialsRevoked(user_id=user_id), key=team.organization_id)
    return await store.get_team(tx, team_id)


async def delete(tx: Tx, team_id: int) -> None:
    """Delete a team; its members stay in the organization. Raises Invalid for Owners, NotFound."""
    team = await _locked(tx, team_id)
    if team.permission == OWNER:
        raise Invalid.field("name", "owners", f"the team {team.name} cannot be deleted")
    await store.remove_team(tx, team_id)
    tx.emit(TeamDeleted(organization_id=team.organization_id, team_id=team_id), key=team.organization_id)


async def add_member(tx: Tx, team_id: int, user_id: int) -> None:
    """Put a user into a team, and so into the organization. Raises NotFound."""
    team = await _locked(tx, team_id)
    await organizations.join(tx, team.organization_id, user_id)
    await store.add_team_member(tx, team_id, user_id)
    await organizations.announce_membership(tx, team.organization_id, user_id)


async def remove_member(tx: Tx, team_id: int, user_id: int) -> None:
    """Take a user out of a team; they stay in the organization. The last owner cannot leave: Invalid."""
    team = await _locked(tx, team_id)
    if team.permission == OWNER:
        await organizations.require_another_owner(tx, team.organization_id, user_id)
    await store.remove_team_member(tx, team_id, user_id)
    await organizations.announce_membership(tx, team.organization_id, user_id)


def granted(permission: str) -> str:
    """What a team gets that asks for ``permission``."""
    return permission if permission in PERMISSIONS else "read"


def checked(units: Sequence[str]) -> str:
    """``units`` such as repo.code, as the column keeps them: empty for all. Raises Invalid."""
    for unit in units:
        if unit.removeprefix("repo.") not in UNITS or not unit.startswith("repo."):
            raise Invalid.field("units", "unknown", f"{unit!r} is no unit")
    wanted = dict.fromkeys(units)
    return ",".join(wanted) if len(wanted) < len(UNITS) else ""


async def _locked(tx: Tx, team_id: int) -> Any:
    """The team as it is while its organization is held: all changes of one organization go one by one."""
    team = await store.get_team(tx, team_id)
    if team is None:
        raise NotFound
    await held(tx, team.organization_id)
    team = await store.get_team(tx, team_id)
    if team is None:
        raise NotFound
    return team
