"""Former spellings of internal routes, for processes of the previous release.

To be removed in release 0.3, which no longer runs next to processes older than 0.2.
"""

from litestar import delete, get, post

from ingot_chassis.errors import NotFound
from ingot_contracts.repos.access import AccessLevel, ReadableRepositories
from ingot_contracts.repos.commits import BranchTip
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_repos.access.api.policies import resolve_by_id
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.repositories.internal import lookups as internal

ACCESS_OF_OWNER = "/internal/repositories/{owner:str}"
SEGMENTS = ("access", "level", "compare", "comparisons", "merge", "diff", "commits", "files")
"""Literal segments of routes. A repository may have such a name, but the router prefers literals."""


@get("/internal/repositories/by-id/{name:str}/access", policy=internal.PEERS, include_in_schema=False)
async def get_access_by_id(request: RepositoryRequest, name: str, user: str = "") -> RepositoryAccess:
    """Serve the former path of ``{id}/access``.

    A name that is not an id is the name of a repository of the account "by-id".
    """
    if internal.is_id(name):
        return await internal.access_by_id(request, int(name), user)
    return await internal.access_by_name(request, "by-id", name, user)


@get("/internal/repositories/by-id/{repository_id:int}/level", policy=internal.PEERS, include_in_schema=False)
async def get_level_by_id(request: RepositoryRequest, repository_id: int, user: str = "") -> AccessLevel:
    """Serve the former path of ``{id}/level``."""
    return await internal.level_of(request, repository_id, user)


@get(ACCESS_OF_OWNER + "/{name:str}/access", policy=internal.PEERS, include_in_schema=False)
async def get_access_of_name(
    request: RepositoryRequest, owner: str, name: str, user: str = ""
) -> RepositoryAccess:
    """Serve the former path of ``by-name/{owner}/{name}/access``."""
    return await internal.access_by_name(request, owner, name, user)


@get(
    [f"{ACCESS_OF_OWNER}/{segment}/access" for segment in SEGMENTS],
    policy=internal.PEERS,
    include_in_schema=False,
)
async def get_access_of_reserved_name(
    request: RepositoryRequest, owner: str, user: str = ""
) -> RepositoryAccess:
    """Serve the former path of ``by-name/{owner}/{name}/access`` for names that are segments of routes."""
    name = request.scope["path"].split("/")[-2]
    return await internal.access_by_name(request, owner, name, user)


@get(ACCESS_OF_OWNER + "/branches/access", policy=internal.PEERS, include_in_schema=False)
async def get_access_of_branches(
    request: RepositoryRequest, owner: str, user: str = ""
) -> RepositoryAccess | BranchTip:
    """Serve the former path of ``by-name/{owner}/{name}/access`` for a repository named "branches".

    If the owner is an id, return the tip of its branch "access" instead.
    """
    try:
        return await internal.access_by_name(request, owner, "branches", user)
    except NotFound:
        if not internal.is_id(owner):
            raise
        repository = await resolve_by_id(request, int(owner))
        return await internal.branch_tip(request, repository, "access")


@delete(ACCESS_OF_OWNER + "/branches/access", policy=internal.ISSUES, include_in_schema=False)
async def remove_branch_access(request: RepositoryRequest, owner: str, tip: str, user: str = "") -> None:
    """Delete the branch named "access".

    This is not a former spelling: the route above hides this branch from ``{id}/branches/{branch}``.
    """
    if not internal.is_id(owner):
        raise NotFound
    await internal.remove_branch_of(request, int(owner), "access", tip, user)


@post("/internal/seen", policy=internal.ISSUES, include_in_schema=False, status_code=200)
async def list_readable_old(request: RepositoryRequest, data: ReadableRepositories) -> ReadableRepositories:
    """Serve the former path of ``readable-repositories``."""
    return await internal.readable_of(request, data)


routes = [
    get_access_by_id,
    get_level_by_id,
    get_access_of_name,
    get_access_of_reserved_name,
    get_access_of_branches,
    remove_branch_access,
    list_readable_old,
]
