"""Routes for teams and their members. Callers outside the organization get 404."""

from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post, put
from msgspec import UNSET, UnsetType

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import NotFound
from ingot_chassis.http.patch import set_fields
from ingot_chassis.http.policy import signed_in
from ingot_contracts.limits import Name
from ingot_identity.access import rules as access
from ingot_identity.access.api import in_organization, of_team
from ingot_identity.access.rules import Level
from ingot_identity.access.store.teams import TeamRow
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.accounts.rules.presenter import Organization, UserProfile
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.teams import rules as teams
from ingot_identity.teams import store

Units = Annotated[list[Name], msgspec.Meta(max_length=100)]
UnitsMap = Annotated[dict[Name, Name], msgspec.Meta(max_length=100)]


class CreateTeamOption(msgspec.Struct, kw_only=True):
    """A new team. `permission` is none, read, write or admin; any other text means read.

    A team has its permission only in its `units`; an empty list means all units. The permission admin is for
    the whole repository. `units_map` has a permission for each unit: none, read, write or admin. It replaces
    `units` and a `permission` below admin. If all its permissions are admin, the team has the permission
    admin. With `includes_all_repositories` the team has its permission for every current and future
    repository of the organization. With `can_create_org_repo` its members may create repositories.
    `visibility` can only be limited.
    """

    name: Name
    description: Name = ""
    permission: Name = "read"
    units: Units = []
    units_map: UnitsMap = {}
    includes_all_repositories: bool = False
    can_create_org_repo: bool = False
    visibility: Name = ""

    def columns(self) -> dict[str, Any]:
        """Return the columns of the new team. Raises Invalid."""
        first = {"description": self.description, "permission": "read", "units": "", "unit_levels": ""}
        return first | teams.columns_of(set_fields(self))


class EditTeamOption(msgspec.Struct, kw_only=True):
    name: Name | UnsetType = UNSET
    description: Name | UnsetType = UNSET
    permission: Name | UnsetType = UNSET
    units: Units | UnsetType = UNSET
    units_map: UnitsMap | UnsetType = UNSET
    includes_all_repositories: bool | UnsetType = UNSET
    can_create_org_repo: bool | UnsetType = UNSET
    visibility: Name | UnsetType = UNSET

    def columns(self, team: TeamRow) -> dict[str, Any]:
        """Return the changed columns of the team. Raises Invalid."""
        fields = set_fields(self)
        if not fields.get("permission"):  # clients send what they leave open as an empty text
            fields.pop("permission", None)
        return teams.columns_of(fields, team)


class Team(msgspec.Struct, kw_only=True):
    """A team. `organization` is absent in lists of one organization.

    The team Owners always has all repositories of the organization, and may create more. `units_map` has the
    level of the team in each unit. If the levels differ, `permission` is the lowest level except none.
    """

    id: int
    name: str
    description: str
    permission: str
    units: list[str]
    units_map: dict[str, str]
    includes_all_repositories: bool
    can_create_org_repo: bool
    visibility: str = teams.VISIBILITY
    organization: Organization | None = None


class TeamSearchResults(msgspec.Struct):
    ok: bool
    data: list[Team]


def _team(request: IdentityRequest) -> TeamRow:
    """Return the team in the path, for routes with the policy ``of_team``."""
    return request.resource  # type: ignore[no-any-return]


def present_team(row: TeamRow, organization: Organization | None = None) -> Team:
    return Team(
        id=row.id,
        name=row.name,
        description=row.description,
        permission=teams.permission_of(row),
        units=teams.all_units(row),
        units_map=teams.units_map_of(row),
        includes_all_repositories=teams.has_everything(row),
        can_create_org_repo=teams.creates(row),
        organization=organization,
    )


async def _with_organization(request: IdentityRequest, db: Executor, row: TeamRow) -> Team:
    organization = await accounts.get(db, row.organization_id)
    return present_team(row, request.presenter.organization(organization) if organization else None)


@get(
    "/api/v1/orgs/{org:str}/teams",
    policy=in_organization(Level.MEMBER, "read:organization"),
    operation_id="orgListTeams",
    tags=["organization"],
)
async def list_teams(request: IdentityRequest) -> Response[list[Team]]:
    """List teams of an organization, Owners first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, request.organization.id, page)
    return Response([present_team(row) for row in rows], headers=request.page_headers(page, total))


@get(
    "/api/v1/orgs/{org:str}/teams/search",
    policy=in_organization(Level.MEMBER, "read:organization"),
    operation_id="teamSearch",
    is_paged=True,
    tags=["organization"],
)
async def search_teams(
    request: IdentityRequest, q: str = "", include_desc: bool = True
) -> Response[TeamSearchResults]:
    """List teams whose name contains `q`. Descriptions are searched, too, unless `include_desc` is false."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.search(
            db, request.organization.id, q.strip(), page, in_description=include_desc
        )
    results = TeamSearchResults(ok=True, data=[present_team(row) for row in rows])
    return Response(results, headers=request.page_headers(page, total))


@get(
    "/api/v1/user/teams",
    policy=signed_in("read:organization"),
    operation_id="userListTeams",
    tags=["user"],
)
async def list_own_teams(request: IdentityRequest) -> Response[list[Team]]:
    """List teams of the caller, each with its organization."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of_user(db, request.principal.id, page)
        organizations = await accounts.list_by_id(db, {row.organization_id for row in rows})
    by_id = {row.id: request.presenter.organization(row) for row in organizations}
    listed = [present_team(row, by_id.get(row.organization_id)) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


@post(
    "/api/v1/orgs/{org:str}/teams",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="orgCreateTeam",
    tags=["organization"],
    status_code=201,
)
async def create_team(request: IdentityRequest, data: CreateTeamOption) -> Team:
    """Create a team."""
    organization_id, columns = request.organization.id, data.columns()
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        row = await teams.create(tx, organization_id, **columns)
        await request.audit(
            tx,
            "team.create",
            teams.audit_subject(row),
            **teams.audit_details(row),
        )
        return await _with_organization(request, tx, row)


@get(
    "/api/v1/teams/{team_id:int}",
    policy=of_team(Level.MEMBER, "read:organization"),
    operation_id="orgGetTeam",
    tags=["organization"],
)
async def get_team(request: IdentityRequest) -> Team:
    """Return a team."""
    async with request.db.read() as db:
        return await _with_organization(request, db, _team(request))


@patch(
    "/api/v1/teams/{team_id:int}",
    policy=of_team(Level.OWNER, "write:organization"),
    operation_id="orgEditTeam",
    tags=["organization"],
)
async def edit_team(request: IdentityRequest, team_id: int, data: EditTeamOption) -> Team:
    """Change a team. Absent fields keep their values. Name, permission and units of Owners cannot change."""
    changes = data.columns(_team(request))
    async with request.db.transaction() as tx:
        await access.require_team_owner(tx, request.principal, _team(request))
        row = await teams.edit(tx, team_id, changes)
        await request.audit(
            tx,
            "team.edit",
            teams.audit_subject(row),
            permission=teams.permission_of(row),
            units=[f"{unit}: {level}" for unit, level in teams.units_map_of(row).items()],
            includes_all_repositories=teams.has_everything(row),
            can_create_org_repo=teams.creates(row),
            fields=sorted(set_fields(data)),
        )
        return await _with_organization(request, tx, row)


@delete(
    "/api/v1/teams/{team_id:int}",
    policy=of_team(Level.OWNER, "write:organization"),
    operation_id="orgDeleteTeam",
    tags=["organization"],
)
async def delete_team(request: IdentityRequest, team_id: int) -> None:
    """Delete a team. Its members stay in the organization."""
    async with request.db.transaction() as tx:
        await access.require_team_owner(tx, request.principal, _team(request))
        await teams.delete(tx, team_id)
        await request.audit(tx, "team.delete", teams.audit_subject(_team(request)))


@get(
    "/api/v1/teams/{team_id:int}/members",
    policy=of_team(Level.MEMBER, "read:organization"),
    operation_id="orgListTeamMembers",
    tags=["organization"],
)
async def list_members(request: IdentityRequest, team_id: int) -> Response[list[UserProfile]]:
    """List members of a team."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_members(db, team_id, page)
        users = await request.present_users(db, rows)
    return Response(users, headers=request.page_headers(page, total))


@get(
    "/api/v1/teams/{team_id:int}/members/{username:str}",
    policy=of_team(Level.MEMBER, "read:organization"),
    operation_id="orgListTeamMember",
    tags=["organization"],
    bodiless=(404,),
)
async def get_member(request: IdentityRequest, team_id: int, username: str) -> UserProfile:
    """Return a member of a team. The status is 404 without a body for other users."""
    row = await request.user(username)
    async with request.db.read() as db:
        if not await store.has_member(db, team_id, row.id):
            raise NotFound
        return await request.present_user(db, row)


@put(
    "/api/v1/teams/{team_id:int}/members/{username:str}",
    policy=of_team(Level.OWNER, "write:organization"),
    operation_id="orgAddTeamMember",
    tags=["organization"],
    status_code=204,
)
async def add_member(request: IdentityRequest, team_id: int, username: str) -> None:
    """Add a user to a team. The user also becomes a member of the organization."""
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await access.require_team_owner(tx, request.principal, _team(request))
        await teams.add_member(tx, team_id, user.id)
        await request.audit(tx, "team.add_member", teams.audit_subject(_team(request)), user=user.login)


@delete(
    "/api/v1/teams/{team_id:int}/members/{username:str}",
    policy=of_team(Level.OWNER, "write:organization"),
    operation_id="orgRemoveTeamMember",
    tags=["organization"],
)
async def remove_member(request: IdentityRequest, team_id: int, username: str) -> None:
    """Remove a user from a team."""
    user = await request.user(username)
    async with request.db.transaction() as tx:
        await access.require_team_owner(tx, request.principal, _team(request))
        await teams.remove_member_by_hand(tx, team_id, user.id)
        await request.audit(tx, "team.remove_member", teams.audit_subject(_team(request)), user=user.login)


routes = [
    list_teams,
    create_team,
    get_team,
    edit_team,
    delete_team,
    search_teams,
    list_own_teams,
    list_members,
    get_member,
    add_member,
    remove_member,
]
