"""Which repositories of its organization a team has. To people outside the organization a team does not exist."""

from litestar import Response, delete, get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.policy import signed_in
from ingot_contracts.identity import Team
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call, Found
from ingot_repos.api.listings import page_of
from ingot_repos.core import access
from ingot_repos.core.access import is_owners
from ingot_repos.core.grants import announce_access
from ingot_repos.store import collaborations, repositories


@get(
    "/api/v1/teams/{team_id:int}/repos",
    policy=signed_in("read:organization"),
    operation_id="orgListTeamRepos",
    tags=["organization"],
)
async def list_repositories(request: Call, team_id: int) -> Response[list[Repository]]:
    """Repositories of a team that the caller may see. Owners have all of their organization."""
    team = await _team(request, team_id)
    page, viewer = request.page(), access.viewer(request.who)
    async with request.db.read() as db:
        if is_owners(team):
            found = await repositories.list_owned(db, viewer, team.organization_id, page)
        else:
            found = await repositories.list_granted(db, viewer, team_id, page)
    return await page_of(request, page, found)


@get(
    "/api/v1/teams/{team_id:int}/repos/{org:str}/{repo:str}",
    policy=signed_in("read:organization"),
    operation_id="orgListTeamRepo",
    tags=["organization"],
)
async def get_repository(request: Call, team_id: int, org: str, repo: str) -> Repository:
    """A repository of a team."""
    team = await _team(request, team_id)
    found = await _repository(request, team, org, repo)
    async with request.db.read() as db:
        if not is_owners(team) and team_id not in await collaborations.team_ids(db, found.id):
            raise NotFound
    return await request.view(found)


@put(
    "/api/v1/teams/{team_id:int}/repos/{org:str}/{repo:str}",
    policy=signed_in("write:organization"),
    operation_id="orgAddTeamRepository",
    tags=["organization"],
    status_code=204,
)
async def add_repository(request: Call, team_id: int, org: str, repo: str) -> None:
    """Give a repository to a team; Owners have it anyway. For its administrators."""
    team = await _team(request, team_id)
    found = await _administered(request, team, org, repo)
    if is_owners(team):
        return
    async with request.db.transaction() as tx:
        await collaborations.grant(tx, found.id, team_id)
        await announce_access(tx, found.id)


@delete(
    "/api/v1/teams/{team_id:int}/repos/{org:str}/{repo:str}",
    policy=signed_in("write:organization"),
    operation_id="orgRemoveTeamRepository",
    tags=["organization"],
)
async def remove_repository(request: Call, team_id: int, org: str, repo: str) -> None:
    """Take a repository from a team. For its administrators."""
    team = await _team(request, team_id)
    found = await _administered(request, team, org, repo)
    if is_owners(team):
        raise Invalid.field("team", "owners", f"the team {team.name} has every repository")
    async with request.db.transaction() as tx:
        if await collaborations.revoke(tx, found.id, team_id):
            await announce_access(tx, found.id)


async def _team(request: Call, team_id: int) -> Team:
    """The team, if the caller is in its organization. Raises NotFound."""
    team = await request.parts.identity.team(team_id)
    if team is None or not access.outside(request.who).signed_in:
        raise NotFound
    if team.organization_id not in request.who.organizations:
        await request.refreshed()
    if team.organization_id not in request.who.organizations:
        raise NotFound
    return team


async def _repository(request: Call, team: Team, org: str, repo: str) -> Found:
    """The repository, if it belongs to the organization of the team. Raises NotFound."""
    found = await request.repository(org, repo)
    if found.row.owner_id != team.organization_id:
        raise NotFound
    return found


async def _administered(request: Call, team: Team, org: str, repo: str) -> Found:
    """The same, if the caller administers it. Raises NotFound, then Denied."""
    await _repository(request, team, org, repo)
    return await request.repository(org, repo, "admin")


routes = [list_repositories, get_repository, add_repository, remove_repository]
