"""Lists of repositories: one's own, an owner's, and the search. Only what the caller may see."""

from typing import Any

import msgspec
from litestar import Response, get

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.paging import Page
from ingot_chassis.policy import anyone, signed_in
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call
from ingot_repos.core import access
from ingot_repos.store import repositories

MODES = ("", "fork", "source", "mirror", "collaborative")


class SearchResults(msgspec.Struct):
    ok: bool
    data: list[Repository]


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
    return await _owned_by(request, await request.account(username))


@get(
    "/api/v1/orgs/{org:str}/repos",
    policy=anyone("read:organization"),
    operation_id="orgListRepos",
    tags=["organization"],
)
async def list_of_organization(request: Call, org: str) -> Response[list[Repository]]:
    """Repositories of an organization, last changed first."""
    owner = await request.account(org)
    if owner.kind != "organization":
        raise NotFound
    return await _owned_by(request, owner)


async def _owned_by(request: Call, owner: Any) -> Response[list[Repository]]:
    who = request.who
    if owner.kind == "organization" and who.signed_in and owner.id not in who.organizations:
        who = await request.refreshed()
    hidden = owner.visibility == "private" and owner.id not in {who.id, *who.organizations}
    if (hidden or (owner.visibility == "limited" and not who.signed_in)) and not who.admin:
        raise NotFound
    page = request.page()
    async with request.db.read() as db:
        found = await repositories.list_owned(db, access.viewer(who), owner.id, page)
    return await page_of(request, page, found)


@get(
    "/api/v1/repos/search",
    policy=anyone("read:repository"),
    operation_id="repoSearch",
    tags=["repository"],
)
async def search(
    request: Call, q: str = "", uid: int = 0, mode: str = "", exclusive: bool = False
) -> Response[SearchResults]:
    """Repositories whose name contains `q`, by name."""
    if mode not in MODES:
        raise Invalid.field("mode", "unknown", f"{mode!r} is none of fork, source, mirror, collaborative")
    if not 0 <= uid < 2**63:
        raise Invalid.field("uid", "range", "is no id")
    page = request.page()
    wanted = repositories.Search(
        text=q.strip().replace("\x00", ""), owner_id=uid, exclusive=exclusive, mode=mode
    )
    async with request.db.read() as db:
        rows, total = await repositories.search(db, access.viewer(request.who), wanted, page)
    answer = SearchResults(ok=True, data=await request.views(rows))
    return Response(answer, headers=request.page_headers(page, total))


routes = [list_own, list_of_user, list_of_organization, search]
