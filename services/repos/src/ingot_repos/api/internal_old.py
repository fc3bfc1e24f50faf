"""Former spellings of internal routes, for processes of the release before this one.

All of this goes with release 0.3: no process older than 0.2 runs beside that one.
"""

from litestar import delete, get, post

from ingot_chassis.errors import NotFound
from ingot_contracts.repos import AccessLevel, BranchTip, ReadableRepositories, RepositoryAccess
from ingot_repos.api import internal
from ingot_repos.api.policies import resolve_by_id
from ingot_repos.api.request import RepositoryRequest

ACCESS_OF_OWNER = "/internal/repositories/{owner:str}"
SEGMENTS = ("access", "level", "compare", "comparisons", "merge", "diff", "commits", "files")
"""A repository may have such a name, and the router prefers a literal segment to a parameter."""


@get("/internal/repositories/by-id/{name:str}/access", policy=internal.PEERS, include_in_schema=False)
async def get_access_by_id(request: RepositoryRequest, name: str, user: str = "") -> RepositoryAccess:
    """``{id}/access``; of a name that is no id, the repository of an account called "by-id"."""
    if internal.is_id(name):
        return await internal.access_by_id(request, int(name), user)
    return await internal.access_by_name(request, "by-id", name, user)


@get("/internal/repositories/by-id/{repository_id:int}/level", policy=internal.PEERS, include_in_schema=False)
async def get_level_by_id(request: RepositoryRequest, repository_id: int, user: str = "") -> AccessLevel:
    """``{id}/level``."""
    return await internal.level_of(request, repository_id, user)


@get(ACCESS_OF_OWNER + "/{name:str}/access", policy=internal.PEERS, include_in_schema=False)
async def get_access_of_name(
    request: RepositoryRequest, owner: str, name: str, user: str = ""
) -> RepositoryAccess:
    """``by-name/{owner}/{name}/access``."""
    return await internal.access_by_name(request, owner, name, user)


@get(
    [f"{ACCESS_OF_OWNER}/{segment}/access" for segment in SEGMENTS],
    policy=internal.PEERS,
    include_in_schema=False,
)
async def get_access_of_reserved_name(
    request: RepositoryRequest, owner: str, user: str = ""
) -> RepositoryAccess:
    """The same for a repository that is called like a segment of another route."""
    name = request.scope["path"].split("/")[-2]
    return await internal.access_by_name(request, owner, name, user)


@get(ACCESS_OF_OWNER + "/branches/access", policy=internal.PEERS, include_in_schema=False)
async def get_access_of_branches(
    request: RepositoryRequest, owner: str, user: str = ""
) -> RepositoryAccess | BranchTip:
    """The same for one called "branches"; else, of an id, the branch called "access"."""
    try:
        return await internal.access_by_name(request, owner, "branches", user)
    except NotFound:
        if not internal.is_id(owner):
            raise
        repository = await resolve_by_id(request, int(owner))
        return await internal.branch_tip(request, repository, "access")


@delete(ACCESS_OF_OWNER + "/branches/access", policy=internal.ISSUES, include_in_schema=False)
async def remove_branch_access(request: RepositoryRequest, owner: str, tip: str, user: str = "") -> None:
    """Not a former spelling: the route above hides this branch from ``{id}/branches/{branch}``."""
    if not internal.is_id(owner):
        raise NotFound
    await internal.remove_branch_of(request, int(owner), "access", tip, user)


@post("/internal/seen", policy=internal.ISSUES, include_in_schema=False, status_code=200)
async def list_readable_old(request: RepositoryRequest, data: ReadableRepositories) -> ReadableRepositories:
    """``readable-repositories``."""
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
