"""Internal routes for repos and issues: teams and their members."""

from collections import defaultdict
from typing import Annotated, cast

import msgspec
from litestar import get, post

from ingot_chassis.errors import NotFound, TooLarge
from ingot_chassis.http.policy import MAX_ID, services
from ingot_contracts.identity.accounts import Visibility
from ingot_contracts.identity.exports import (
    MOST_EXPORTED_MEMBERS,
    MOST_EXPORTED_TEAMS,
    ExportedOrganization,
)
from ingot_contracts.identity.teams import FindMembers, ImportedTeam, ImportTeam, Team
from ingot_contracts.identity.units import UNITS, Unit
from ingot_identity.access.store import teams as team_rows
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind
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


@get(
    "/internal/organizations/{organization_id:int}/export",
    policy=services("repos"),
    include_in_schema=False,
)
async def export_organization(request: IdentityRequest, organization_id: int) -> ExportedOrganization:
    """Return an organization with all teams and their members, without a check of its visibility.

    Answers 413 if it has more teams or members than an archive may have.
    """
    async with request.db.read() as db:
        row = await accounts.get(db, organization_id)
        if row is None or row.kind != AccountKind.ORGANIZATION:
            raise NotFound
        team_list = await teams.list_all(db, organization_id, MOST_EXPORTED_TEAMS + 1)
        member_list = await teams.list_all_members(db, organization_id, MOST_EXPORTED_MEMBERS + 1)
    if len(team_list) > MOST_EXPORTED_TEAMS or len(member_list) > MOST_EXPORTED_MEMBERS:
        raise TooLarge(
            f"an archive has at most {MOST_EXPORTED_TEAMS} teams and {MOST_EXPORTED_MEMBERS} members of them"
        )
    logins = defaultdict[int, list[str]](list)
    for one in member_list:
        logins[one.team_id].append(one.login)
    profile = request.presenter.organization(row)
    return ExportedOrganization(
        name=profile.username,
        full_name=profile.full_name,
        description=profile.description,
        website=profile.website,
        location=profile.location,
        email=profile.email,
        visibility=cast("Visibility", row.visibility),
        teams=[present(one) for one in team_list],
        members=dict(logins),
    )


routes = [
    members_of_teams,
    find_members,
    import_team,
    members_of_team,
    team_by_id,
    teams_of_organization,
    export_organization,
]
