"""Internal routes for repos and issues: teams and their members."""

from typing import Annotated

import msgspec
from litestar import get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import MAX_ID, services
from ingot_contracts.identity.teams import FindMembers, ImportedTeam, ImportTeam, Team
from ingot_contracts.identity.units import UNITS, Unit
from ingot_identity.access.store import teams as team_rows
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.members import store as members
from ingot_identity.teams import rules
from ingot_identity.teams import store as teams
from ingot_identity.teams.rules import present, teams_reaching

Ids = list[Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]]
"""Ids up to the largest one that a database can store."""


PEERS = services("repos", "issues")


@get(
    "/internal/organizations/{organization_id:int}/team-members",
    policy=PEERS,
    include_in_schema=False,
)
async def members_of_teams(
    request: IdentityRequest,
    organization_id: int,
    ids: Ids | None = None,
    write: bool = False,
    unit: list[Unit] | None = None,
) -> list[int]:
    """Return the users in these teams of an organization, and in teams with all its repositories.

    Only teams that may read one of the units in ``?unit=`` are included, by default any unit. With
    ``?write=true``, only teams that may write one of them are included.
    """
    async with request.db.read() as db:
        rows = await teams.list_with_repository(db, organization_id, ids or [])
        reaching = teams_reaching(rows, unit or UNITS, "write" if write else "read")
        return await teams.members_of_teams(db, reaching)


@post(
    "/internal/organizations/{organization_id:int}/members",
    policy=services("repos"),
    include_in_schema=False,
    status_code=200,
)
async def find_members(request: IdentityRequest, organization_id: int, data: FindMembers) -> list[int]:
    """Return the requested users who are in the organization or, with ``team_ids``, in one of these teams."""
    async with request.db.read() as db:
        if data.team_ids is None:
            return await members.filter_members(db, organization_id, data.ids)
        return await teams.filter_members(db, organization_id, data.ids, data.team_ids)


@post(
    "/internal/organizations/{organization_id:int}/imported-teams",
    policy=services("repos"),
    include_in_schema=False,
    status_code=200,
)
async def import_team(request: IdentityRequest, organization_id: int, data: ImportTeam) -> ImportedTeam:
    """Create or find the team of an import, and add members.

    Answers 404 if the organization does not exist.
    """
    async with request.db.transaction() as tx:
        return await rules.import_team(tx, organization_id, data)


@get("/internal/teams/{team_id:int}/members", policy=PEERS, include_in_schema=False)
async def members_of_team(request: IdentityRequest, team_id: int) -> list[int]:
    """Return the users in one team; empty if it does not exist."""
    async with request.db.read() as db:
        return sorted(await teams.member_ids(db, team_id))


@get("/internal/teams/{team_id:int}", policy=services("repos"), include_in_schema=False)
async def team_by_id(request: IdentityRequest, team_id: int) -> Team:
    """Return a team, even if the caller may not see it."""
    async with request.db.read() as db:
        row = await team_rows.get(db, team_id)
    if row is None:
        raise NotFound
    return present(row)


@get(
    "/internal/organizations/{organization_id:int}/teams",
    policy=services("repos", "issues"),
    include_in_schema=False,
)
async def teams_of_organization(
    request: IdentityRequest,
    organization_id: int,
    name: str = "",
    ids: Ids | None = None,
    everywhere: bool = False,
) -> list[Team]:
    """Return teams with this name or these ids and, with ``?everywhere=true``, teams with all repositories.

    Each of the three parameters is optional. Owners comes first, then the others by name.
    """
    async with request.db.read() as db:
        rows = await teams.list_named(db, organization_id, name, ids or [], everywhere=everywhere)
    return [present(row) for row in rows]


routes = [members_of_teams, find_members, import_team, members_of_team, team_by_id, teams_of_organization]
