"""Teams of an organization.

The team Owners is created with the organization, and cannot be renamed or deleted.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.operations import Detail
from ingot_contracts.identity.events import CredentialsRevoked, TeamDeleted, TeamEdited
from ingot_contracts.identity.teams import OWNERS, ImportedTeam, ImportTeam, Team
from ingot_contracts.identity.units import UNIT_LEVELS, UNITS, Unit, UnitLevel, write_levels
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_identity.access.rules import levels_by_unit
from ingot_identity.access.store import memberships
from ingot_identity.access.store import teams as team_rows
from ingot_identity.access.store.teams import TeamPermission, TeamRow
from ingot_identity.accounts.rules import names
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountVisibility
from ingot_identity.emails import store as emails
from ingot_identity.members import rules as members
from ingot_identity.teams import store

PERMISSIONS = (TeamPermission.NONE, TeamPermission.READ, TeamPermission.WRITE, TeamPermission.ADMIN)
EXTERNAL: tuple[Unit, ...] = ("ext_wiki", "ext_issues")
"""Units that can only be read, so the permission of a team does not depend on them."""
VISIBILITY = "limited"
"""The visibility of teams: for the members of their organization."""
WIDER_VISIBILITIES = ("public",)
"""Requests for a wider visibility are ignored. Requests for a narrower one are rejected."""
GRANTED = ("permission", "units", "unit_levels", "includes_all_repositories", "can_create_org_repo")
"""The columns from which a principal's permissions are computed."""
IMPORT = "import"
"""The way in which an import acts, in the audit log."""
MOST_TEAMS = 1_000
"""Maximum teams of one member in one organization, because an event and a principal list all of them."""


async def create(
    tx: Tx,
    organization_id: int,
    *,
    name: str,
    description: str,
    permission: str,
    units: str,
    unit_levels: str,
    includes_all_repositories: bool,
    can_create_org_repo: bool,
) -> TeamRow:
    """Create a team with the columns from ``columns_of``. An unknown permission means read.

    Raises Invalid.
    """
    names.check_team(name)
    await lock_for_update(tx, organization_id)
    team_id = await store.add(
        tx,
        organization_id,
        name,
        description=description,
        permission=granted(permission),
        units=units,
        unit_levels=unit_levels,
        includes_all_repositories=includes_all_repositories,
        can_create_org_repo=can_create_org_repo,
    )
    if team_id is None:
        raise Invalid.field("name", "taken", f"there is a team {name!r}")
    return await get_team(tx, team_id)


def audit_subject(row: TeamRow) -> str:
    """Return the subject of an entry in the audit log."""
    return f"team {row.name} ({row.id}) of organization {row.organization_id}"


def audit_details(row: TeamRow) -> dict[str, Detail]:
    """Return the rights of a new team for its entry in the audit log."""
    return {
        "permission": permission_of(row),
        "units": [f"{unit}: {level}" for unit, level in units_map_of(row).items()],
        "includes_all_repositories": row.includes_all_repositories,
        "can_create_org_repo": row.can_create_org_repo,
    }


async def import_team(tx: Tx, organization_id: int, new: ImportTeam) -> ImportedTeam:
    """Create or find the team of an import, and add its members who may join. Raises NotFound.

    An existing team keeps its rights and its members. Users who may not sign in do not join. The audit log
    names the administrator who imports.
    """
    organization = await lock_for_update(tx, organization_id)
    importer = await accounts.get(tx, new.requested_by)
    actor = Actor(new.requested_by, importer.login if importer is not None else "", IMPORT)
    if organization.kind != AccountKind.ORGANIZATION:
        raise NotFound
    if new.permission == "owner":
        team_id = await store.id_by_name(tx, organization_id, OWNERS) if new.is_new else None
        reason: Literal["owners", "deleted"] = "owners"
    else:
        row = await store.get_imported(tx, organization_id, new.import_id, new.source_id)
        try:
            team_id = (
                row.team_id if row is not None else await _create_imported(tx, organization_id, new, actor)
            )
        except Invalid as error:
            return ImportedTeam(reason="taken" if error.errors[0].code == "taken" else "name")
        reason = "deleted"
    if team_id is None:
        return ImportedTeam(reason=reason)
    is_open = new.is_new or organization.visibility != AccountVisibility.PRIVATE
    subject, before = audit_subject(await lock_team(tx, team_id)), set(await store.member_ids(tx, team_id))
    joined = list[int]()
    for user_id in sorted(set(new.members)):
        user = await accounts.get(tx, user_id)
        if user is None or user.kind != AccountKind.USER or not user.active or user.login_prohibited:
            continue
        if user_id in new.addresses and not await _has_confirmed(tx, user_id, new.addresses[user_id]):
            continue
        if is_open or await memberships.exists(tx, organization_id, user_id):
            with suppress(Conflict):  # in too many teams
                await add_member(tx, team_id, user_id)
                joined.append(user_id)
                if user_id not in before:
                    details: dict[str, Detail] = {"user": user.login, "import_id": new.import_id}
                    await add_entry(tx, actor, "team.add_member", subject, details)
    return ImportedTeam(id=team_id, members=joined)


async def _has_confirmed(tx: Tx, user_id: int, address: str) -> bool:
    rows = await emails.among(tx, user_id, [address.lower()])
    return any(row.confirmed_at is not None for row in rows)


async def _create_imported(tx: Tx, organization_id: int, new: ImportTeam, actor: Actor) -> int:
    """Create the team of an import with the rights at its source. Raises Invalid."""
    columns = {"permission": new.permission, "units": "", "unit_levels": ""}
    if new.permission == "none" and new.units_map:
        columns = _columns_of_map(new.units_map, new.permission)
    team = await create(
        tx,
        organization_id,
        name=new.name,
        description=new.description[:NAME_CHARACTERS],
        includes_all_repositories=new.includes_all_repositories and new.is_new,
        can_create_org_repo=new.can_create_org_repo and new.is_new,
        **columns,
    )
    await store.add_imported(tx, organization_id, new.import_id, new.source_id, team.id)
    details = audit_details(team) | {"import_id": new.import_id}
    await add_entry(tx, actor, "team.create", audit_subject(team), details)
    return team.id


async def edit(tx: Tx, team_id: int, changes: dict[str, Any]) -> TeamRow:
    """Change only the columns in ``changes``. Return the new row. Raises Invalid, NotFound."""
    team = await lock_team(tx, team_id)
    changes = {column: value for column, value in changes.items() if value != getattr(team, column)}
    if team.permission == TeamPermission.OWNER and changes.keys() & {
        "name",
        "permission",
        "units",
        "unit_levels",
    }:
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
    """Delete a team. Its members stay in the organization. Raises NotFound, and Invalid for Owners."""
    team = await lock_team(tx, team_id)
    if team.permission == TeamPermission.OWNER:
        raise Invalid.field("name", "owners", f"the team {team.name} cannot be deleted")
    await store.remove(tx, team_id)
    tx.emit(TeamDeleted(organization_id=team.organization_id, team_id=team_id), key=team.organization_id)


async def add_member(tx: Tx, team_id: int, user_id: int) -> None:
    """Add a user to a team and to its organization.

    Raises NotFound, and Conflict if the user is in too many teams.
    """
    team = await lock_team(tx, team_id)
    team_ids = await team_rows.ids_of(tx, team.organization_id, user_id)
    if team_id not in team_ids and len(team_ids) >= MOST_TEAMS:
        raise Conflict(f"the user is in {MOST_TEAMS} teams, and nobody may be in more than that")
    await members.join(tx, team.organization_id, user_id)
    await store.add_member(tx, team_id, user_id)
    await members.announce(tx, team.organization_id, user_id)


async def remove_member(tx: Tx, team_id: int, user_id: int) -> None:
    """Remove a user from a team. The user stays in the organization.

    Raises NotFound, and Invalid for the last owner.
    """
    team = await lock_team(tx, team_id)
    if team.permission == TeamPermission.OWNER:
        await members.require_another_owner(tx, team.organization_id, user_id)
    await store.remove_member(tx, team_id, user_id)
    await members.announce(tx, team.organization_id, user_id)


async def remove_member_by_hand(tx: Tx, team_id: int, user_id: int) -> None:
    """Remove a user like ``remove_member``. Raises Conflict if groups of a source made the user a member."""
    await lock_team(tx, team_id)
    await members.require_not_mapped(tx, [team_id], user_id)
    await remove_member(tx, team_id, user_id)


def columns_of(fields: Mapping[str, Any], team: TeamRow | None = None) -> dict[str, Any]:
    """Return the columns for the ``fields`` of a request about ``team``; None is a new team.

    Raises Invalid, also for a combination of fields that no team can have.
    """
    is_owners = team is not None and team.permission == TeamPermission.OWNER
    fixed: dict[str, tuple[Any, str]] = {
        "visibility": (VISIBILITY, f"is always {VISIBILITY}: the members of the organization see its teams")
    }
    if is_owners:
        fixed["includes_all_repositories"] = (True, "is always true for the team Owners")
        fixed["can_create_org_repo"] = (True, "is always true for the team Owners")
    for field, (value, words) in fixed.items():
        if fields.get(field, value) not in (value, "", *WIDER_VISIBILITIES):
            raise Invalid.field(field, "unsupported", words)
    columns = {field: value for field, value in fields.items() if field not in (*fixed, "units_map")}
    units_map = fields.get("units_map")
    if units_map and (team is None or units_map != units_map_of(team)):
        return columns | _columns_of_map(units_map, fields.get("permission"))
    if "units" in columns:
        columns["units"] = checked(columns["units"])
    if team is not None and team.unit_levels and columns.keys() & {"permission", "units"}:
        columns.setdefault("permission", permission_of(team))
        columns.setdefault("units", ",".join(all_units(team)))
        columns["unit_levels"] = ""
    return columns


def _columns_of_map(units_map: Mapping[str, str], permission: str | None) -> dict[str, Any]:
    """Return the columns ``permission``, ``units`` and ``unit_levels`` for levels by unit.

    If all levels are ``read`` or all are ``write``, ``permission`` has the level. If all are ``admin``, or
    ``permission`` is ``admin``, the team is an administrator in all units. Otherwise ``permission`` is
    ``none`` and ``unit_levels`` has the levels. Raises Invalid.
    """
    checked(list(units_map))
    if wrong := sorted(set(units_map.values()) - {*UNIT_LEVELS}):
        words = f"{wrong[0]!r} is none of {', '.join(UNIT_LEVELS)}"
        raise Invalid.field("units_map", "unsupported", words)
    if permission == TeamPermission.ADMIN or set(units_map.values()) == {TeamPermission.ADMIN}:
        return {"permission": TeamPermission.ADMIN, "units": "", "unit_levels": ""}
    levels = {
        unit: cast("UnitLevel", units_map[f"repo.{unit}"]) for unit in UNITS if f"repo.{unit}" in units_map
    }
    if set(levels.values()) in ({TeamPermission.READ}, {TeamPermission.WRITE}):
        return {
            "permission": levels[next(iter(levels))],
            "units": checked(list(units_map)),
            "unit_levels": "",
        }
    return {"permission": TeamPermission.NONE, "units": "", "unit_levels": write_levels(levels)}


def granted(permission: str) -> TeamPermission:
    """Return the permission with this name; READ for unknown names."""
    return TeamPermission(permission) if permission in PERMISSIONS else TeamPermission.READ


def present(row: TeamRow) -> Team:
    """Return the team in the format of the internal API."""
    return Team(
        id=row.id,
        organization_id=row.organization_id,
        name=row.name,
        permission=permission_of(row),
        description=row.description,
        units=all_units(row),
        units_map=units_map_of(row),
        includes_all_repositories=has_everything(row),
        can_create_org_repo=creates(row),
    )


def permission_of(row: TeamRow) -> str:
    """Return the permission that the API shows for a team.

    For a team with levels by unit it is the lowest level except none, at most write.
    """
    levels = levels_by_unit(row)
    if not row.unit_levels or levels is None:
        return row.permission
    own = {levels[unit] for unit in levels if unit not in EXTERNAL}
    lowest = next((level for level in UNIT_LEVELS if level != "none" and level in own), "none")
    return min(lowest, "write", key=UNIT_LEVELS.index)


def units_map_of(row: TeamRow) -> dict[str, str]:
    """Return the level of each unit of a team, by the unit's API name."""
    levels = levels_by_unit(row)
    if levels is None:
        return dict.fromkeys(all_units(row), row.permission)
    return {f"repo.{unit}": level for unit, level in levels.items()}


def has_everything(row: TeamRow) -> bool:
    """True if the team has all repositories of its organization."""
    return row.permission == TeamPermission.OWNER or row.includes_all_repositories


def creates(row: TeamRow) -> bool:
    """True if members of the team may create repositories of its organization."""
    return row.permission == TeamPermission.OWNER or row.can_create_org_repo


def all_units(row: TeamRow) -> list[str]:
    """Return the API names of a team's units."""
    levels = levels_by_unit(row)
    return [f"repo.{unit}" for unit in (UNITS if levels is None else levels)]


def teams_reaching(rows: Collection[TeamRow], units: Collection[Unit], level: UnitLevel) -> list[int]:
    """Return the ids of teams that have at least ``level`` in one of ``units``."""
    return [row.id for row in rows if any(_reaches(row, unit, level) for unit in units)]


def _reaches(row: TeamRow, unit: Unit, level: UnitLevel) -> bool:
    levels = levels_by_unit(row)
    if levels is None:
        order = (*UNIT_LEVELS, TeamPermission.OWNER)
        return order.index(row.permission) >= order.index(level)
    return UNIT_LEVELS.index(levels.get(unit, "none")) >= UNIT_LEVELS.index(level)


def checked(units: Sequence[str]) -> str:
    """Return the column's value for ``units`` such as repo.code; empty for all units. Raises Invalid."""
    for unit in units:
        if unit not in {f"repo.{name}" for name in UNITS}:
            raise Invalid.field("units", "unknown", f"{unit!r} is no unit")
    distinct = dict.fromkeys(units)
    return ",".join(distinct) if len(distinct) < len(UNITS) else ""


async def lock_team(tx: Tx, team_id: int) -> TeamRow:
    """Lock the organization, and return the team. This serializes changes of one organization.

    Raises NotFound.
    """
    team = await get_team(tx, team_id)
    await lock_for_update(tx, team.organization_id)
    return await get_team(tx, team_id)


async def get_team(tx: Tx, team_id: int) -> TeamRow:
    team = await team_rows.get(tx, team_id)
    if team is None:
        raise NotFound
    return team
