"""Teams and their members. To people outside the organization a team does not exist."""

from typing import Any, cast

import msgspec
from litestar import Response, delete, get, patch, post, put
from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler
from msgspec import UNSET, UnsetType

from ingot_chassis.database import Executor
from ingot_chassis.errors import NotFound
from ingot_chassis.policy import signed_in
from ingot_contracts.identity import User
from ingot_identity.api.call import Call, enter_as_owner
from ingot_identity.api.changes import Text255, given
from ingot_identity.core import organizations, teams
from ingot_identity.store import organizations as store


class CreateTeam(msgspec.Struct, kw_only=True):
    """`permission` is read, write or admin; anything else counts as read. No `units` means all."""

    name: str
    description: Text255 = ""
    permission: str = "read"
    units: list[str] = []


class EditTeam(msgspec.Struct, kw_only=True):
    name: str | UnsetType = UNSET
    description: Text255 | UnsetType = UNSET
    permission: str | UnsetType = UNSET
    units: list[str] | UnsetType = UNSET

    def columns(self) -> dict[str, Any]:
        """The changes, as the use case takes them. Raises Invalid."""
        changes = given(self)
        if "units" in changes:
            changes["units"] = teams.checked(changes["units"])
        return changes


class Team(msgspec.Struct, kw_only=True):
    id: int
    name: str
    description: str
    permission: str
    units: list[str]


def view(row: Any) -> Team:
    return Team(
        id=row.id,
        name=row.name,
        description=row.description,
        permission=row.permission,
        units=row.units.split(",") if row.units else [f"repo.{unit}" for unit in teams.UNITS],
    )


async def enter_owned_team(
    connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler
) -> None:
    """The guard of what owners do to the team in the path, before the body or another name is looked at."""
    request = cast("Call", connection)
    async with request.db.read() as db:
        await _require_owned(db, request, connection.path_params["team_id"])


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
    guards=[enter_as_owner],
    operation_id="orgCreateTeam",
    tags=["organization"],
    status_code=201,
)
async def create_team(request: Call, org: str, data: CreateTeam) -> Team:
    """Create a team."""
    organization = await request.organization(org)
    async with request.db.transaction() as tx:
        await organizations.require_owner(tx, request.who, organization.id)
        row = await teams.create(
            tx,
            organization.id,
            name=data.name,
            description=data.description,
            permission=data.permission,
            units=data.units,
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


@patch(
    "/api/v1/teams/{team_id:int}",
    policy=signed_in("write:organization"),
    guards=[enter_owned_team],
    operation_id="orgEditTeam",
    tags=["organization"],
)
async def edit_team(request: Call, team_id: int, data: EditTeam) -> Team:
    """Change a team; what is absent stays. Owners keeps its name, permission and units."""
    changes = data.columns()
    async with request.db.transaction() as tx:
        await _require_owned(tx, request, team_id)
        row = await teams.edit(tx, team_id, changes)
    return view(row)


@delete(
    "/api/v1/teams/{team_id:int}",
    policy=signed_in("write:organization"),
    operation_id="orgDeleteTeam",
    tags=["organization"],
)
async def delete_team(request: Call, team_id: int) -> None:
    """Delete a team; its members stay in the organization."""
    async with request.db.transaction() as tx:
        await _require_owned(tx, request, team_id)
        await teams.delete(tx, team_id)


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
    guards=[enter_owned_team],
    operation_id="orgAddTeamMember",
    tags=["organization"],
    status_code=204,
)
async def add_member(request: Call, team_id: int, username: str) -> None:
    """Put a user into a team, and so into the organization."""
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await _require_owned(tx, request, team_id)
        await teams.add_member(tx, team_id, user.id)


@delete(
    "/api/v1/teams/{team_id:int}/members/{username:str}",
    policy=signed_in("write:organization"),
    guards=[enter_owned_team],
    operation_id="orgRemoveTeamMember",
    tags=["organization"],
)
async def remove_member(request: Call, team_id: int, username: str) -> None:
    """Take a user out of a team."""
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await _require_owned(tx, request, team_id)
        await teams.remove_member(tx, team_id, user.id)


async def _visible_team(request: Call, team_id: int) -> Any:
    async with request.db.read() as db:
        team = await store.get_team(db, team_id)
        if team is None or not await store.is_member(db, team.organization_id, request.who.id):
            raise NotFound
    return team


async def _require_owned(db: Executor, request: Call, team_id: int) -> None:
    team = await store.get_team(db, team_id)
    if team is None or not await store.is_owner(db, team.organization_id, request.who.id):
        raise NotFound


routes = [
    list_teams,
    create_team,
    get_team,
    edit_team,
    delete_team,
    list_members,
    add_member,
    remove_member,
]
