"""Teams and their members. To people outside the organization a team does not exist."""

from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, post, put

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import signed_in
from ingot_contracts.identity import User
from ingot_identity.api.call import Call
from ingot_identity.core import organizations
from ingot_identity.store import organizations as store


class CreateTeam(msgspec.Struct, kw_only=True):
    """`permission` is read, write or admin; anything else counts as read."""

    name: str
    description: Annotated[str, msgspec.Meta(max_length=255)] = ""
    permission: str = "read"


class Team(msgspec.Struct, kw_only=True):
    id: int
    name: str
    description: str
    permission: str


def view(row: Any) -> Team:
    return Team(id=row.id, name=row.name, description=row.description, permission=row.permission)


@get(
    "/api/v1/orgs/{org:str}/teams",
    policy=signed_in("read:organization"),
    operation_id="orgListTeams",
    tags=["organization"],
)
async def list_teams(request: Call, org: str) -> Response[list[Team]]:
    """Teams of an organization, Owners first."""
    organization = await request.organization(org)
    page = request.page()
    async with request.db.read() as db:
        await organizations.require_member(db, request.who, organization.id)
        rows, total = await store.list_teams(db, organization.id, page)
    return Response([view(row) for row in rows], headers=request.page_headers(page, total))


@post(
    "/api/v1/orgs/{org:str}/teams",
    policy=signed_in("write:organization"),
    operation_id="orgCreateTeam",
    tags=["organization"],
    status_code=201,
)
async def create_team(request: Call, org: str, data: CreateTeam) -> Team:
    """Create a team."""
    organization = await request.organization(org)
    async with request.db.transaction() as tx:
        await organizations.require_owner(tx, request.who, organization.id)
        row = await organizations.create_team(
            tx, organization.id, name=data.name, description=data.description, permission=data.permission
        )
    return view(row)


@get(
    "/api/v1/teams/{team_id:int}",
    policy=signed_in("read:organization"),
    operation_id="orgGetTeam",
    tags=["organization"],
)
async def get_team(request: Call, team_id: int) -> Team:
    """A team."""
    return view(await _visible_team(request, team_id))


@get(
    "/api/v1/teams/{team_id:int}/members",
    policy=signed_in("read:organization"),
    operation_id="orgListTeamMembers",
    tags=["organization"],
)
async def list_members(request: Call, team_id: int) -> Response[list[User]]:
    """Members of a team."""
    await _visible_team(request, team_id)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_team_members(db, team_id, page)
    return Response([request.viewing.user(row) for row in rows], headers=request.page_headers(page, total))


@put(
    "/api/v1/teams/{team_id:int}/members/{username:str}",
    policy=signed_in("write:organization"),
    operation_id="orgAddTeamMember",
    tags=["organization"],
    status_code=204,
)
async def add_member(request: Call, team_id: int, username: str) -> None:
    """Put a user into a team, and so into the organization."""
    team = await _owned_team(request, team_id)
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await organizations.add_team_member(tx, team, user.id)


@delete(
    "/api/v1/teams/{team_id:int}/members/{username:str}",
    policy=signed_in("write:organization"),
    operation_id="orgRemoveTeamMember",
    tags=["organization"],
)
async def remove_member(request: Call, team_id: int, username: str) -> None:
    """Take a user out of a team."""
    await _owned_team(request, team_id)
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await organizations.remove_team_member(tx, team_id, user.id)


async def _visible_team(request: Call, team_id: int) -> Any:
    async with request.db.read() as db:
        team = await store.get_team(db, team_id)
        if team is None or not await store.is_member(db, team.organization_id, request.who.id):
            raise NotFound
    return team


async def _owned_team(request: Call, team_id: int) -> Any:
    async with request.db.read() as db:
        team = await store.get_team(db, team_id)
        if team is None or not await store.is_owner(db, team.organization_id, request.who.id):
            raise NotFound
    return team


routes = [list_teams, create_team, get_team, list_members, add_member, remove_member]
