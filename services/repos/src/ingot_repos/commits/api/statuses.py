"""Statuses that other systems add to commits."""

from collections.abc import Callable
from typing import Annotated, Literal, cast, get_args

import msgspec
from litestar import Response, get, post
from litestar.params import QueryParameter

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.limits import WEB_URL, Description, Name
from ingot_contracts.repos.commits import CommitStatus, StatusState
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import in_repository, own_account, writable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.commits.api.event_commits import event_commit
from ingot_repos.commits.api.named_commits import named_commit
from ingot_repos.commits.rules.statuses import add_status, outcome, status_view
from ingot_repos.commits.store import statuses

Sort = Literal["oldest", "recentupdate", "leastupdate", "leastindex", "highestindex"]
Only = Annotated[
    str, QueryParameter(name="state", description=f"One of {', '.join(get_args(StatusState))}; empty: any.")
]
"""The filter for states. Litestar reserves the name ``state``, so ``_page`` checks the value."""
OLDEST_FIRST = ("oldest", "leastupdate", "leastindex")
PARAMETERS_OF_LISTS = ("page", "limit", "sort", "state")
WORST_FIRST: tuple[StatusState, ...] = ("error", "failure", "warning", "success", "pending", "skipped")


class CreateStatusOption(msgspec.Struct, kw_only=True):
    state: StatusState
    target_url: Annotated[Description, WEB_URL] = ""
    description: Description = ""
    context: Name = "default"


class CombinedStatus(msgspec.Struct):
    """The combined state of the latest status of each context.

    ``statuses`` is one page of ``total_count``.
    """

    state: str
    sha: str
    total_count: int
    statuses: list[CommitStatus]
    repository: Repository
    commit_url: str
    url: str


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/statuses/{sha:path}",
    policy=in_repository("write", "write:repository", on_disk=True),
    operation_id="repoCreateStatus",
    tags=["repository"],
    status_code=201,
)
async def create_status(
    request: RepositoryRequest,
    sha: str,
    data: CreateStatusOption,
) -> CommitStatus:
    """Add a status to a commit."""
    repository = writable(request)
    sha = await named_commit(request, request.rest_of_path(6))
    commit, omitted = await event_commit(request, repository, sha)
    creator = await own_account(request)
    async with request.db.transaction() as tx:
        return await add_status(
            tx,
            request.presenter,
            repository.id,
            commit,
            omitted,
            creator,
            state=data.state,
            target_url=data.target_url,
            description=data.description.strip(),
            context=data.context.strip() or "default",
        )


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/statuses/{sha:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoListStatuses",
    tags=["repository"],
)
async def list_statuses(
    request: RepositoryRequest,
    sha: str,  # noqa: ARG001 - it is normalized
    sort: Sort = "recentupdate",
    only: Only = "",
) -> Response[list[CommitStatus]]:
    """List the statuses of a commit, by default latest first.

    The values `oldest`, `leastupdate` and `leastindex` of `sort` list the oldest first.
    """
    return await _page(request, request.rest_of_path(6), sort, only)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/commits/{ref:str}/status",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetCombinedStatus",
    tags=["repository"],
    is_paged=True,
)
async def combined_status(request: RepositoryRequest, ref: str) -> Response[CombinedStatus]:
    """Get the latest status of each context, in pages, and a combined state.

    The state is `success` if every context succeeded or was skipped. It is `failure` if any context failed or
    warns, otherwise `pending`.
    """
    return await _combined(request, ref, outcome)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/commits/{ref:str}/statuses",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetCombinedStatusByRef",
    tags=["repository"],
    is_paged=True,
)
async def statuses_of_ref(
    request: RepositoryRequest, ref: str, sort: Sort = "recentupdate", only: Only = ""
) -> Response[list[CommitStatus] | CombinedStatus]:
    """List the statuses of a commit, if the query has `page`, `limit`, `sort` or `state`.

    By default the latest status comes first. Without these parameters, a setting of the server decides
    between this list and the combined status.
    """
    return await _list_or_combined(request, ref, sort, only)


@get(
    [
        f"/api/v1/repos/{{owner:str}}/{{repo:str}}/commits/{{ref:str}}/{more}{{rest:path}}"
        for more in ("", "status/", "statuses/")
    ],
    policy=in_repository("read", "read:repository", on_disk=True),
    include_in_schema=False,
)
async def statuses_of_slashed_name(
    request: RepositoryRequest,
    ref: str,  # noqa: ARG001 - it is normalized
    rest: str,  # noqa: ARG001
    sort: Sort = "recentupdate",
    only: Only = "",
) -> Response[list[CommitStatus] | CombinedStatus]:
    """Return the statuses of a name with slashes, which a path parameter cannot contain."""
    name, _, last = request.rest_of_path(6).rpartition("/")
    if last == "status":
        combined = await _combined(request, name, outcome)
        return Response(combined.content, headers=combined.headers)
    if last == "statuses":
        return await _list_or_combined(request, name, sort, only)
    raise NotFound


async def _list_or_combined(
    request: RepositoryRequest, ref: str, sort: Sort, only: str
) -> Response[list[CommitStatus] | CombinedStatus]:
    is_list = request.settings.statuses_of_commits == "list"
    if is_list or any(name in request.query_params for name in PARAMETERS_OF_LISTS):
        listed = await _page(request, ref, sort, only)
        return Response(listed.content, headers=listed.headers)
    combined = await _combined(request, ref, _worst)
    return Response(combined.content, headers=combined.headers)


async def _page(request: RepositoryRequest, ref: str, sort: Sort, only: str) -> Response[list[CommitStatus]]:
    repository = request.resource
    if only and only not in get_args(StatusState):
        raise Invalid.field("state", "unknown", f"is one of {', '.join(get_args(StatusState))}")
    state = cast("StatusState | None", only or None)
    commit = await named_commit(request, ref)
    page = request.page()
    async with request.db.read() as db:
        rows, total = await statuses.list_page(
            db, repository.id, commit, page, state=state, oldest_first=sort in OLDEST_FIRST
        )
    return Response(
        [status_view(request.presenter, repository.full_name, row) for row in rows],
        headers=request.page_headers(page, total),
    )


def _worst(states: set[StatusState]) -> StatusState:
    """Return the worst of the states, like the oldest route; `pending` without any state."""
    return next((state for state in WORST_FIRST if state in states), "pending")


async def _combined(
    request: RepositoryRequest, ref: str, combine: Callable[[set[StatusState]], StatusState]
) -> Response[CombinedStatus]:
    repository, page = request.resource, request.page()
    sha = await named_commit(request, ref)
    async with request.db.read() as db:
        rows = await statuses.newest_of_each_context(db, repository.id, sha)
    states: set[StatusState] = {row.state for row in rows}
    answer = CombinedStatus(
        state=combine(states),
        sha=sha,
        total_count=len(rows),
        statuses=[
            status_view(request.presenter, repository.full_name, row)
            for row in rows[page.offset : page.offset + page.limit]
        ],
        repository=await present(request, repository),
        commit_url=f"{request.public_url}{repository.full_name}/commit/{sha}",
        url=f"{request.public_url}api/v1/repos/{repository.full_name}/commits/{sha}/status",
    )
    return Response(answer, headers=request.page_headers(page, len(rows)))


routes = [create_status, list_statuses, combined_status, statuses_of_ref, statuses_of_slashed_name]
