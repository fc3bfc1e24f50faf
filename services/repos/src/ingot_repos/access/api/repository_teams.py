"""Teams of a repository, by name. Routes answer 405 if a user owns the repository."""

from typing import Literal

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity.teams import Team
from ingot_repos.access.api.policies import named_team_of_repository, teams_of_repository
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import grants
from ingot_repos.access.rules.levels import creates, has_everything
from ingot_repos.access.store import collaborations
from ingot_repos.clients.identity import HttpIdentity


class RepositoryTeam(msgspec.Struct, kw_only=True):
    """A team, as the routes of organizations return it. `organization` is always null."""

    id: int
    name: str
    description: str
    permission: str
    units: list[str]
    units_map: dict[str, str]
    includes_all_repositories: bool
    can_create_org_repo: bool
    visibility: Literal["limited"] = "limited"
    organization: None = None


def present_team(team: Team) -> RepositoryTeam:
    return RepositoryTeam(
        id=team.id,
        name=team.name,
        description=team.description,
        permission=team.permission,
        units=team.units,
        units_map=team.units_map or dict.fromkeys(team.units, team.permission),
        includes_all_repositories=has_everything(team),
        can_create_org_repo=creates(team),
    )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/teams",
    policy=teams_of_repository("signed-in", "read:repository"),
    operation_id="repoListTeams",
    tags=["repository"],
)
async def list_teams(request: RepositoryRequest) -> Response[list[RepositoryTeam]]:
    """List teams that have the repository: Owners, then teams with all repositories, then the others.

    Allowed for members of the organization and for repository administrators.
    """
    repository, page = request.resource, request.page()
    identity, organization_id = request.part(HttpIdentity), repository.row.owner_id
    async with request.db.read() as db:
        granted = await collaborations.team_ids(db, repository.id)
    first = {team.id: team for team in await identity.teams(organization_id, everywhere=True)}
    ids = [*first, *(id_ for id_ in granted if id_ not in first)]
    shown = ids[page.offset : page.offset + page.limit]
    teams = [first[id_] for id_ in shown if id_ in first]
    if len(teams) < len(shown):
        teams += await identity.teams(organization_id, ids=shown[len(teams) :])
    return Response([present_team(team) for team in teams], headers=request.page_headers(page, len(ids)))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/teams/{team:str}",
    policy=named_team_of_repository("signed-in", "read:repository"),
    operation_id="repoCheckTeam",
    tags=["repository"],
)
async def check_team(request: RepositoryRequest) -> RepositoryTeam:
    """Return the named team, if it has the repository."""
    if not await _has_repository(request):
        raise NotFound
    return present_team(request.team_repository.team)


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/teams/{team:str}",
    policy=named_team_of_repository("admin", "write:repository"),
    operation_id="repoAddTeam",
    tags=["repository"],
    status_code=204,
)
async def add_team(request: RepositoryRequest) -> None:
    """Give a team access to the repository. It is an error if the team already has access."""
    team, repository = request.team_repository.team, request.team_repository.repository
    if await _has_repository(request):
        raise Invalid.field("team", "present", f"the team {team.name} already has the repository")
    async with request.db.transaction() as tx:
        await grants.add_team(tx, repository.id, team.id)
        await request.audit(tx, "team.add", repository.audit_subject, team=team.name)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/teams/{team:str}",
    policy=named_team_of_repository("admin", "write:repository"),
    operation_id="repoDeleteTeam",
    tags=["repository"],
)
async def remove_team(request: RepositoryRequest) -> None:
    """Remove the repository from a team. It is an error if the team has all repositories, or not this one."""
    team, repository = request.team_repository.team, request.team_repository.repository
    if has_everything(team):
        raise Invalid.field("team", "owners", f"the team {team.name} has every repository")
    async with request.db.transaction() as tx:
        if not await collaborations.revoke(tx, repository.id, team.id):
            raise Invalid.field("team", "absent", f"the team {team.name} does not have the repository")
        await grants.announce_access(tx, repository.id)
        await request.audit(tx, "team.remove", repository.audit_subject, team=team.name)


async def _has_repository(request: RepositoryRequest) -> bool:
    team, repository = request.team_repository.team, request.team_repository.repository
    if has_everything(team):
        return True
    async with request.db.read() as db:
        return team.id in await collaborations.team_ids(db, repository.id)


routes = [list_teams, check_team, add_team, remove_team]
