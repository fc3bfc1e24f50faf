"""Routes for stars of repositories."""

from litestar import Response, delete, get, put

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import signed_in
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.blocks import require_unblocked
from ingot_repos.access.api.policies import in_repository, of_user, own_account
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.social.api.pages import page_of_related, page_of_users
from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import STARS


@put(
    "/api/v1/user/starred/{owner:str}/{repo:str}",
    policy=in_repository("signed-in", "write:user", unit=None, of_caller=True),
    operation_id="userCurrentPutStar",
    tags=["user"],
    status_code=204,
)
async def put_star(request: RepositoryRequest) -> None:
    """Star a repository."""
    await require_unblocked(request)
    account = await own_account(request)
    async with request.db.transaction() as tx:
        await stars_and_watches.add(tx, STARS, request.resource.id, account.id)


@delete(
    "/api/v1/user/starred/{owner:str}/{repo:str}",
    policy=in_repository("signed-in", "write:user", unit=None, of_caller=True),
    operation_id="userCurrentDeleteStar",
    tags=["user"],
)
async def delete_star(request: RepositoryRequest) -> None:
    """Remove the star from a repository."""
    async with request.db.transaction() as tx:
        await stars_and_watches.remove(tx, STARS, request.resource.id, request.principal.id)


@get(
    "/api/v1/user/starred/{owner:str}/{repo:str}",
    policy=in_repository("signed-in", "read:user", unit=None, of_caller=True),
    operation_id="userCurrentCheckStarring",
    tags=["user"],
    status_code=204,
)
async def check_star(request: RepositoryRequest) -> None:
    """Answer 204 if the caller starred the repository, else 404."""
    async with request.db.read() as db:
        if not await stars_and_watches.contains(db, STARS, request.resource.id, request.principal.id):
            raise NotFound


@get(
    "/api/v1/user/starred",
    policy=signed_in("read:user"),
    operation_id="userCurrentListStarred",
    tags=["user"],
)
async def list_own_stars(request: RepositoryRequest) -> Response[list[Repository]]:
    """List repositories that the caller starred."""
    return await page_of_related(request, STARS, request.principal.id)


@get(
    "/api/v1/users/{username:str}/starred",
    policy=of_user("read:user", of_caller=True),
    operation_id="userListStarred",
    tags=["user"],
)
async def list_stars(request: RepositoryRequest) -> Response[list[Repository]]:
    """List public repositories that a user starred."""
    return await page_of_related(request, STARS, request.account.id)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/stargazers",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoListStargazers",
    tags=["repository"],
)
async def list_stargazers(request: RepositoryRequest) -> Response[list[User]]:
    """List users who starred a repository."""
    return await page_of_users(request, STARS)


routes = [put_star, delete_star, check_star, list_own_stars, list_stars, list_stargazers]
