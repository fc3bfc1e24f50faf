"""Lists of repositories: one's own and an owner's. Only what the caller may see."""

from typing import Any

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.paging import Page
from ingot_chassis.policy import anyone, signed_in
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call
from ingot_repos.core import access
from ingot_repos.store import repositories


async def page_of(request: Call, page: Page, found: tuple[list[Any], int]) -> Response[list[Repository]]:
    """One page of repositories as an answer."""
    rows, total = found
    return Response(await request.views(rows), headers=request.page_headers(page, total))


@get(
    "/api/v1/user/repos",
    policy=signed_in("read:repository"),
    operation_id="userCurrentListRepos",
    tags=["user"],
)
async def list_own(request: Call) -> Response[list[Repository]]:
    """The caller's own repositories, then those of others that they can reach."""
    page = request.page()
    async with request.db.read() as db:
        found = await repositories.list_held(db, access.viewer(request.who), page)
    return await page_of(request, page, found)


@get(
    "/api/v1/users/{username:str}/repos",
    policy=anyone("read:repository"),
    operation_id="userListRepos",
    tags=["user"],
)
async def list_of_user(request: Call, username: str) -> Response[list[Repository]]:
    """Repositories of a user, last changed first."""
    return await _owned_by(request, await request.visible_account(username))


@get(
    "/api/v1/orgs/{org:str}/repos",
    policy=anyone("read:organization"),
    operation_id="orgListRepos",
    tags=["organization"],
)
async def list_of_organization(request: Call, org: str) -> Response[list[Repository]]:
    """Repositories of an organization, last changed first."""
    owner = await request.visible_account(org)
    if owner.kind != "organization":
        raise NotFound
    return await _owned_by(request, owner)


async def _owned_by(request: Call, owner: Any) -> Response[list[Repository]]:
    page = request.page()
    async with request.db.read() as db:
        found = await repositories.list_owned(db, access.viewer(request.who), owner.id, page)
    return await page_of(request, page, found)


routes = [list_own, list_of_user, list_of_organization]
