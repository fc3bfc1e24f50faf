"""Repositories of a team. For callers outside its organization, the team does not exist."""

from litestar import Response, delete, get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import page_of, present
from ingot_repos.access.api.policies import in_team, repository_of_team
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import grants
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.levels import has_everything
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store import lists as repository_lists


@get(
    "/api/v1/teams/{team_id:int}/repos",
    policy=in_team("read:organization"),
    operation_id="orgListTeamRepos",
    tags=["organization"],
)
async def list_repositories(request: RepositoryRequest) -> Response[list[Repository]]:
    """List repositories of a team that the caller may see.

    Some teams, such as Owners, have all repositories of their organization.
    """
    team = request.team
    page, viewer = request.page(), access.viewer(request.principal)
    async with request.db.read() as db:
        if has_everything(team):
            content = await repository_lists.list_owned(db, viewer, team.organization_id, page)
        else:
            content = await repository_lists.list_granted(db, viewer, team.id, page)
    return await page_of(request, page, content)


@get(
    "/api/v1/teams/{team_id:int}/repos/{org:str}/{repo:str}",
    policy=repository_of_team("read", "read:organization"),
    operation_id="orgListTeamRepo",
    tags=["organization"],
)
async def get_repository(request: RepositoryRequest) -> Repository:
    """Return a repository of a team."""
    team, repository = request.team_repository.team, request.team_repository.repository
    async with request.db.read() as db:
        if not has_everything(team) and team.id not in await collaborations.team_ids(db, repository.id):
            raise NotFound
    return await present(request, repository)


@put(
    "/api/v1/teams/{team_id:int}/repos/{org:str}/{repo:str}",
    policy=repository_of_team("admin", "write:organization"),
    operation_id="orgAddTeamRepository",
    tags=["organization"],
    status_code=204,
)
async def add_repository(request: RepositoryRequest) -> None:
    """Give a repository to a team. Only administrators of the repository may do this.

    Nothing changes if the team has all repositories.
    """
    team, repository = request.team_repository.team, request.team_repository.repository
    if has_everything(team):
        return
    async with request.db.transaction() as tx:
        await grants.add_team(tx, repository.id, team.id)
        await request.audit(tx, "team.add", repository.audit_subject, team=team.name)


@delete(
    "/api/v1/teams/{team_id:int}/repos/{org:str}/{repo:str}",
    policy=repository_of_team("admin", "write:organization"),
    operation_id="orgRemoveTeamRepository",
    tags=["organization"],
)
async def remove_repository(request: RepositoryRequest) -> None:
    """Take a repository from a team. Only administrators of the repository may do this.

    Answers 422 if the team has all repositories.
    """
    team, repository = request.team_repository.team, request.team_repository.repository
    if has_everything(team):
        raise Invalid.field("team", "owners", f"the team {team.name} has every repository")
    async with request.db.transaction() as tx:
        if await collaborations.revoke(tx, repository.id, team.id):
            await grants.announce_access(tx, repository.id)
            await request.audit(tx, "team.remove", repository.audit_subject, team=team.name)


routes = [list_repositories, get_repository, add_repository, remove_repository]
