"""Teams of an organization. The team Owners is created with the organization, and cannot be renamed or deleted."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.identity import CredentialsRevoked, Team, TeamDeleted, TeamEdited
from ingot_identity.core import members, names
from ingot_identity.core.locks import lock_for_update
from ingot_identity.store import teams as store
from ingot_identity.store.tables import TeamPermission, TeamRow

PERMISSIONS = (TeamPermission.READ, TeamPermission.WRITE, TeamPermission.ADMIN)
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
VISIBILITY = "limited"
"""Teams are seen by the members of their organization."""
GRANTED = ("permission", "includes_all_repositories", "can_create_org_repo")
"""The columns that a principal rests on."""
MOST_TEAMS = 1_000
"""The limit for one member in one organization: an event and a principal list all teams of a member."""


async def create(
    tx: Tx,
    organization_id: int,
    *,
    name: str,
    description: str,
    permission: str,
    units: str,
    includes_all_repositories: bool,
    can_create_org_repo: bool,
) -> TeamRow:
    """Create a team of ``columns_of``; an unknown permission counts as read. Raises Invalid."""
    names.check_team(name)
    await lock_for_update(tx, organization_id)
    team_id = await store.add(
        tx,
        organization_id,
        name,
        description=description,
        permission=granted(permission),
        units=units,
        includes_all_repositories=includes_all_repositories,
        can_create_org_repo=can_create_org_repo,
    )
    if team_id is None:
        raise Invalid.field("name", "taken", f"there is a team {name!r}")
    return await get_team(tx, team_id)


async def edit(tx: Tx, team_id: int, changes: dict[str, Any]) -> TeamRow:
    """Change the columns named in ``changes`` and no others; the new row. Raises Invalid, NotFound."""
    team = await lock_team(tx, team_id)
    changes = {column: value for column, value in changes.items() if value != getattr(team, column)}
    if team.permission == TeamPermission.OWNER and changes.keys() & {"name", "permission", "units"}:
        raise Invalid.field("name", "owners", f"the team {team.name} keeps its name, permission and units")
    if "name" in changes:
        name = names.check_team(changes["name"])
        if await store.id_by_name(tx, team.organization_id, name) not in (None, team_id):
            raise Invalid.field("name", "taken", f"there is a team {name!r}")
    if "permission" in changes:
        changes["permission"] = granted(changes["permission"])
    await store.change(tx, team_id, **changes)
    edited = await get_team(tx, team_id)
    if changes:
        tx.emit(TeamEdited(team=present(edited)), key=team.organization_id)
    if changes.keys() & GRANTED:
        for user_id in await store.member_ids(tx, team_id):
            tx.emit(CredentialsRevoked(user_id=user_id), key=team.organization_id)
    return edited


async def delete(tx: Tx, team_id: int) -> None:
    """Delete a team; its members stay in the organization. Raises Invalid for Owners, NotFound."""
    team = await lock_team(tx, team_id)
    if team.permission == TeamPermission.OWNER:
        raise Invalid.field("name", "owners", f"the team {team.name} cannot be deleted")
    await store.remove(tx, team_id)
    tx.emit(TeamDeleted(organization_id=team.organization_id, team_id=team_id), key=team.organization_id)


async def add_member(tx: Tx, team_id: int, user_id: int) -> None:
    """Put a user into a team, and so into the organization. Raises NotFound, or Conflict for one team too many."""
    team = await lock_team(tx, team_id)
    team_ids = await store.ids_of(tx, team.organization_id, user_id)
    if team_id not in team_ids and len(team_ids) >= MOST_TEAMS:
        raise Conflict(f"the user is in {MOST_TEAMS} teams, and nobody may be in more than that")
    await members.join(tx, team.organization_id, user_id)
    await store.add_member(tx, team_id, user_id)
    await members.announce(tx, team.organization_id, user_id)


async def remove_member(tx: Tx, team_id: int, user_id: int) -> None:
    """Take a user out of a team; they stay in the organization. Raises Invalid for the last owner, NotFound."""
    team = await lock_team(tx, team_id)
    if team.permission == TeamPermission.OWNER:
        await members.require_another_owner(tx, team.organization_id, user_id)
    await store.remove_member(tx, team_id, user_id)
    await members.announce(tx, team.organization_id, user_id)


def columns_of(fields: Mapping[str, Any], *, is_owners: bool) -> dict[str, Any]:
    """The columns for the ``fields`` of a request. Raises Invalid, also for what no team can be."""
    fixed: dict[str, tuple[Any, str]] = {
        "visibility": (VISIBILITY, f"is always {VISIBILITY}: the members of the organization see its teams")
    }
    if is_owners:
        fixed["includes_all_repositories"] = (True, "is always true for the team Owners")
        fixed["can_create_org_repo"] = (True, "is always true for the team Owners")
    for field, (value, words) in fixed.items():
        if fields.get(field, value) not in (value, ""):
            raise Invalid.field(field, "unsupported", words)
    columns = {field: value for field, value in fields.items() if field not in (*fixed, "units_map")}
    if fields.get("units_map"):
        columns |= _columns_of_map(fields["units_map"], fields.get("permission"), is_owners=is_owners)
    if "units" in columns:
        columns["units"] = checked(columns["units"])
    return columns


def _columns_of_map(
    units_map: Mapping[str, str], permission: str | None, *, is_owners: bool
) -> dict[str, Any]:
    """The permission and the units of a map from each to what it permits. Raises Invalid."""
    units = [unit for unit, permitted in units_map.items() if permitted != "none"]
    checked(units)
    if permission == TeamPermission.ADMIN:
        return {"units": []}
    permissions = {units_map[unit] for unit in units}
    choices = (TeamPermission.OWNER,) if is_owners else PERMISSIONS
    if len(permissions) != 1 or not permissions <= {*choices}:
        words = "needs the same permission for all units: read, write or admin"
        raise Invalid.field("units_map", "unsupported", words)
    return {"permission": permissions.pop(), "units": units}


def granted(permission: str) -> TeamPermission:
    """The permission of a team that is asked for as ``permission``: an unknown one counts as read."""
    return TeamPermission(permission) if permission in PERMISSIONS else TeamPermission.READ


def present(row: TeamRow) -> Team:
    """What other services copy."""
    return Team(
        id=row.id,
        organization_id=row.organization_id,
        name=row.name,
        permission=row.permission,
        description=row.description,
        units=all_units(row),
        includes_all_repositories=has_everything(row),
        can_create_org_repo=creates(row),
    )


def has_everything(row: TeamRow) -> bool:
    """Whether the team has all repositories of its organization."""
    return row.permission == TeamPermission.OWNER or row.includes_all_repositories


def creates(row: TeamRow) -> bool:
    """Whether its members may create repositories of its organization."""
    return row.permission == TeamPermission.OWNER or row.can_create_org_repo


def all_units(row: TeamRow) -> list[str]:
    """The units of a team as the API names them; a row without any has all."""
    return row.units.split(",") if row.units else [f"repo.{unit}" for unit in UNITS]


def checked(units: Sequence[str]) -> str:
    """The value of the column for ``units`` such as repo.code: empty for all. Raises Invalid."""
    for unit in units:
        if unit.removeprefix("repo.") not in UNITS or not unit.startswith("repo."):
            raise Invalid.field("units", "unknown", f"{unit!r} is no unit")
    distinct = dict.fromkeys(units)
    return ",".join(distinct) if len(distinct) < len(UNITS) else ""


async def lock_team(tx: Tx, team_id: int) -> TeamRow:
    """The team, read after its organization is locked: changes of one organization are serialized."""
    team = await get_team(tx, team_id)
    await lock_for_update(tx, team.organization_id)
    return await get_team(tx, team_id)


async def get_team(tx: Tx, team_id: int) -> TeamRow:
    team = await store.get(tx, team_id)
    if team is None:
        raise NotFound
    return team
