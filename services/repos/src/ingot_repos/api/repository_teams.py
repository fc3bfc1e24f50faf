"""The teams of a repository, by name. Only repositories of organizations have some: others answer 405."""

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import OWNERS, Team
from ingot_repos.api.policies import named_team_of_repository, teams_of_repository
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import grants
from ingot_repos.core.access import is_owners
from ingot_repos.store import collaborations

ID_OF_OWNERS = 0
"""Stands for the team Owners, which no grant names."""


class RepositoryTeam(msgspec.Struct, kw_only=True):
    """A team as the routes of organizations show it, too. Owners has all repositories of the organization."""

    id: int
    name: str
    description: str
    permission: str
    units: list[str]
    units_map: dict[str, str]
    includes_all_repositories: bool
    can_create_org_repo: bool


def present_team(team: Team) -> RepositoryTeam:
    return RepositoryTeam(
        id=team.id,
        name=team.name,
        description=team.description,
        permission=team.permission,
        units=team.units,
        units_map=dict.fromkeys(team.units, team.permission),
        includes_all_repositories=is_owners(team),
        can_create_org_repo=is_owners(team),
    )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/teams",
    policy=teams_of_repository("signed-in", "read:repository"),
    operation_id="repoListTeams",
    tags=["repository"],
)
async def list_teams(request: RepositoryRequest) -> Response[list[RepositoryTeam]]:
    """Teams that have the repository, Owners first. For members of the organization, and for administrators."""
    repository, page = request.resource, request.page()
    async with request.db.read() as db:
        ids = [ID_OF_OWNERS, *await collaborations.team_ids(db, repository.id)]
    shown = ids[page.offset : page.offset + page.limit]
    name = OWNERS if ID_OF_OWNERS in shown else ""
    teams = await request.components.identity.teams(repository.row.owner_id, name=name, ids=shown)
    return Response([present_team(team) for team in teams], headers=request.page_headers(page, len(ids)))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/teams/{team:str}",
    policy=named_team_of_repository("signed-in", "read:repository"),
    operation_id="repoCheckTeam",
    tags=["repository"],
)
async def check_team(request: RepositoryRequest) -> RepositoryTeam:
    """The team of that name, if it has the repository."""
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
    """Give the repository to a team that has it not yet."""
    team, repository = request.team_repository.team, request.team_repository.repository
    if await _has_repository(request):
        raise Invalid.field("team", "present", f"the team {team.name} has the repository already")
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
    """Take the repository from a team that has it; Owners keeps it."""
    team, repository = request.team_repository.team, request.team_repository.repository
    if is_owners(team):
        raise Invalid.field("team", "owners", f"the team {team.name} has every repository")
    async with request.db.transaction() as tx:
        if not await collaborations.revoke(tx, repository.id, team.id):
            raise Invalid.field("team", "absent", f"the team {team.name} has not the repository")
        await grants.announce_access(tx, repository.id)
        await request.audit(tx, "team.remove", repository.audit_subject, team=team.name)


async def _has_repository(request: RepositoryRequest) -> bool:
    team, repository = request.team_repository.team, request.team_repository.repository
    if is_owners(team):
        return True
    async with request.db.read() as db:
        return team.id in await collaborations.team_ids(db, repository.id)


routes = [list_teams, check_team, add_team, remove_team]
