"""Lists of repositories that the caller may see."""

from litestar import Response, get

from ingot_chassis.http.policy import signed_in
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import page_of
from ingot_repos.access.api.policies import of_organization, of_user
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.catalog.store import lists as repository_lists


@get(
    "/api/v1/user/repos",
    policy=signed_in("read:repository"),
    operation_id="userCurrentListRepos",
    tags=["user"],
)
async def list_own(request: RepositoryRequest) -> Response[list[Repository]]:
    """List repositories of the caller, then repositories shared with the caller."""
    page = request.page()
    async with request.db.read() as db:
        content = await repository_lists.list_accessible(db, access.viewer(request.principal), page)
    return await page_of(request, page, content)


@get(
    "/api/v1/users/{username:str}/repos",
    policy=of_user("read:repository"),
    operation_id="userListRepos",
    tags=["user"],
)
async def list_of_user(request: RepositoryRequest) -> Response[list[Repository]]:
    """List repositories of a user, the most recently changed first."""
    return await _list_owned(request)


@get(
    "/api/v1/orgs/{org:str}/repos",
    policy=of_organization("read:organization"),
    operation_id="orgListRepos",
    tags=["organization"],
)
async def list_of_organization(request: RepositoryRequest) -> Response[list[Repository]]:
    """List repositories of an organization, the most recently changed first."""
    return await _list_owned(request)


async def _list_owned(request: RepositoryRequest) -> Response[list[Repository]]:
    page, viewer = request.page(), access.viewer(request.principal)
    async with request.db.read() as db:
        content = await repository_lists.list_owned(db, viewer, request.account.id, page)
    return await page_of(request, page, content)


routes = [list_own, list_of_user, list_of_organization]
