"""Commit statuses: what other systems say of a commit."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_contracts.repos import CommitStatus, Repository
from ingot_repos.api.call import Call
from ingot_repos.api.contents import named_commit
from ingot_repos.core import statuses as core
from ingot_repos.store import statuses

State = Literal["pending", "success", "error", "failure", "warning"]
WORST_FIRST: tuple[State, ...] = ("error", "failure", "warning", "success", "pending")


class CreateStatus(msgspec.Struct, kw_only=True):
    state: State
    target_url: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    description: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    context: Annotated[str, msgspec.Meta(max_length=255)] = "default"


class CombinedStatus(msgspec.Struct):
    """``state`` is the worst of the newest status of each context."""

    state: str
    sha: str
    total_count: int
    statuses: list[CommitStatus]
    repository: Repository
    commit_url: str
    url: str


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/statuses/{sha:path}",
    policy=resource("write", "write:repository"),
    on_disk=True,
    operation_id="repoCreateStatus",
    tags=["repository"],
    status_code=201,
)
async def create_status(request: Call, sha: str, data: CreateStatus) -> CommitStatus:  # noqa: ARG001
    """Say something of a commit."""
    found = request.writable
    commit = await named_commit(request, request.rest_of_path(6))
    creator = await request.own_account()
    async with request.db.transaction() as tx:
        return await core.say(
            tx,
            request.viewing,
            found.id,
            commit,
            creator,
            state=data.state,
            target_url=data.target_url.strip(),
            description=data.description.strip(),
            context=data.context.strip() or "default",
        )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/statuses/{sha:path}",
    policy=resource("read", "read:repository"),
    on_disk=True,
    operation_id="repoListStatuses",
    tags=["repository"],
)
async def list_statuses(request: Call, sha: str) -> Response[list[CommitStatus]]:  # noqa: ARG001
    """Statuses of a commit, newest first."""
    found = request.found
    commit = await named_commit(request, request.rest_of_path(6))
    page = request.page()
    async with request.db.read() as db:
        rows, total = await statuses.list_of(db, found.id, commit, page)
    return Response(
        [core.view(request.viewing, found.full_name, row) for row in rows],
        headers=request.page_headers(page, total),
    )


def _combined_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """Ids are unique in a description: the younger spelling has its own."""
    return "repoGetCombinedStatusByRef" if "statuses" in path else "repoGetCombinedStatus"


@get(
    [
        "/api/v1/repos/{owner:str}/{repo:str}/commits/{ref:str}/statuses",
        "/api/v1/repos/{owner:str}/{repo:str}/commits/{ref:str}/status",
    ],
    policy=resource("read", "read:repository"),
    on_disk=True,
    operation_id=_combined_id,
    tags=["repository"],
)
async def combined_status(request: Call, ref: str) -> CombinedStatus:
    """The newest status of each context, and the worst of their states."""
    return await _combined(request, ref)


def _long_name_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """The same for a name with slashes, whatever its second part is called."""
    second = next((part for part in path if part in ("status", "statuses")), "")
    return f"repoGetCombinedStatusByLongName{second.capitalize()}"


@get(
    [
        f"/api/v1/repos/{{owner:str}}/{{repo:str}}/commits/{{ref:str}}/{more}{{rest:path}}"
        for more in ("", "status/", "statuses/")
    ],
    policy=resource("read", "read:repository"),
    on_disk=True,
    operation_id=_long_name_id,
    tags=["repository"],
)
async def combined_status_of_a_long_name(request: Call, ref: str, rest: str) -> CombinedStatus:  # noqa: ARG001
    """The same for a name with slashes, which no single parameter of a path holds."""
    name, _, last = request.rest_of_path(6).rpartition("/")
    if last not in ("status", "statuses"):
        raise NotFound
    return await _combined(request, name)


async def _combined(request: Call, ref: str) -> CombinedStatus:
    found = request.found
    sha = await named_commit(request, ref)
    async with request.db.read() as db:
        rows = await statuses.newest_of_each_context(db, found.id, sha)
    states = {row.state for row in rows}
    return CombinedStatus(
        state=next((state for state in WORST_FIRST if state in states), "pending"),
        sha=sha,
        total_count=len(rows),
        statuses=[core.view(request.viewing, found.full_name, row) for row in rows],
        repository=await request.view(found),
        commit_url=f"{request.public_url}{found.full_name}/commit/{sha}",
        url=f"{request.public_url}api/v1/repos/{found.full_name}/commits/{sha}/status",
    )


routes = [create_status, list_statuses, combined_status, combined_status_of_a_long_name]
