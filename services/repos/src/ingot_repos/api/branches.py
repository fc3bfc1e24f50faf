"""Branches, read from disk."""

import msgspec
from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_contracts.repos import Commit
from ingot_repos.api.call import Call, Found
from ingot_repos.core.views import UNSIGNED, addresses
from ingot_repos.git.commits import CommitInfo
from ingot_repos.git.errors import RefNotFound, RepositoryNotFound
from ingot_repos.git.pushed import branch_with_commit, page_of_branches
from ingot_repos.store import accounts


class Branch(msgspec.Struct):
    name: str
    commit: Commit


async def _views(request: Call, found: Found, tips: list[tuple[str, CommitInfo]]) -> list[Branch]:
    async with request.db.read() as db:
        logins = await accounts.logins_by_email(db, addresses(*(info for _, info in tips)))
    return [
        Branch(name, request.viewing.commit(found.full_name, info, logins, verification=UNSIGNED))
        for name, info in tips
    ]


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/branches",
    policy=resource("read", "read:repository"),
    on_disk=True,
    operation_id="repoListBranches",
    tags=["repository"],
)
async def list_branches(request: Call) -> Response[list[Branch]]:
    """Branches by name."""
    found = request.found
    page = request.page()
    try:
        tips, total = await request.storage.call(found.id, page_of_branches, page.offset, page.limit)
    except RepositoryNotFound:
        raise NotFound from None
    return Response(await _views(request, found, tips), headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/branches/{branch:path}",
    policy=resource("read", "read:repository"),
    on_disk=True,
    operation_id="repoGetBranch",
    tags=["repository"],
)
async def get_one(request: Call, branch: str) -> Branch:  # noqa: ARG001 - see below
    """One branch; its name may hold slashes."""
    found = request.found
    name = request.rest_of_path(6)  # the path parameter comes normalized
    try:
        info = await request.storage.call(found.id, branch_with_commit, name)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    return (await _views(request, found, [(name, info)]))[0]


routes = [list_branches, get_one]
