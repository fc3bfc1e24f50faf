"""What blocks an issue, and what it blocks."""

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import NotFound
from ingot_contracts.issues import Issue
from ingot_contracts.limits import Name
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.api.issues import issue_id_of, issue_of, present
from ingot_issues.api.policies import in_repository
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core import dependencies
from ingot_issues.core.access import allows, has_dependencies, require
from ingot_issues.store import dependencies as store
from ingot_issues.store import issues, repositories
from ingot_issues.store.issues import IssueDetails

DEPENDENCIES = "/issues/{index:int}/dependencies"
BLOCKS = "/issues/{index:int}/blocks"
NO_DEPENDENCIES = "issues of the repository have no dependencies"


class IssueMeta(msgspec.Struct, kw_only=True):
    """An issue or pull request; without ``owner`` and ``repo`` one of the same repository."""

    index: int
    owner: Name = ""
    repo: Name = ""


async def _other_issue(request: IssuesRequest, meta: IssueMeta) -> tuple[IssueDetails, RepositoryAccess]:
    """The issue that the body names, if the caller may read it, and their access to its repository. Raises NotFound."""
    access = await _other_access(request, meta)
    async with request.db.read() as db:
        issue = await issues.get_details(db, access.repository.id, meta.index)
    if issue is None:
        raise NotFound("the other issue does not exist")
    if not allows(access, request.principal, "read", "pulls" if issue.is_pull else "issues"):
        raise NotFound("the other issue does not exist")
    if access.repository.id != request.repository_id:
        async with request.db.transaction() as tx:
            await repositories.add_missing(tx, access.repository)
    return issue, access


async def _other_access(request: IssuesRequest, meta: IssueMeta) -> RepositoryAccess:
    own = request.access.repository
    owner, name = meta.owner or own.owner.login, meta.repo or own.name
    if f"{owner}/{name}".lower() == own.full_name.lower():
        return request.access
    try:
        return await request.components.repos.access(owner, name, request.principal_token)
    except NotFound:
        raise NotFound("the other issue does not exist") from None


async def _has_dependencies(request: IssuesRequest) -> bool:
    """Whether issues of the repository in the path wait for others. Before the answer is no, repos is asked again."""
    return await request.allowed(lambda access: has_dependencies(access.repository))


async def _require_dependencies(request: IssuesRequest) -> None:
    """Raises NotFound."""
    if not await _has_dependencies(request):
        raise NotFound(NO_DEPENDENCIES)


async def _waiting_issue(request: IssuesRequest, index: int) -> IssueDetails:
    """The issue in the path, which is the one that is blocked. Raises NotFound."""
    issue = await issue_of(request, index)
    await _require_dependencies(request)
    return issue


async def _list_page(request: IssuesRequest, index: int, *, blocked: bool) -> Response[list[Issue]]:
    """Issues of other repositories are only for readers of these. Raises NotFound."""
    issue_id, page = await issue_id_of(request, index), request.page()
    if not blocked:
        await _require_dependencies(request)
    async with request.db.read() as db:
        involved = await store.list_repositories(db, issue_id, blocked=blocked)
    if not involved:
        return Response([], headers=request.page_headers(page, 0))
    others = involved - {request.repository_id}
    readable = await request.components.repos.readable(others, request.principal_token)
    async with request.db.read() as db:
        within = readable | {request.repository_id}
        rows, total = await store.list_page(db, issue_id, page, blocked=blocked, within=within)
        copies = await repositories.get_many(db, {row.repository_id for row in rows})
    copies[request.repository_id] = request.access.repository
    presenter = request.presenter
    page_issues = [presenter.issue(row, copies[row.repository_id]) for row in rows]
    return Response(page_issues, headers=request.page_headers(page, total))


@get(
    DEPENDENCIES,
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="issueListIssueDependencies",
    tags=["issue"],
)
async def list_dependencies(request: IssuesRequest, index: int) -> Response[list[Issue]]:
    """The issues that block an issue, open and closed ones; 404 where issues of the repository have no dependencies."""
    return await _list_page(request, index, blocked=False)


@post(
    DEPENDENCIES,
    policy=in_repository("write", "write:issue", "issues"),
    operation_id="issueCreateIssueDependencies",
    tags=["issue"],
    status_code=201,
)
async def add_dependency(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Let another issue block this one: this one cannot be closed or merged before the other one is closed."""
    issue, (blocker, _) = await _waiting_issue(request, index), await _other_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.add_dependency(tx, context, issue, blocker, on=issue)
    return present(request, issue)


@delete(
    DEPENDENCIES,
    policy=in_repository("write", "write:issue", "issues"),
    operation_id="issueRemoveIssueDependencies",
    tags=["issue"],
    status_code=200,
)
async def remove_dependency(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Let another issue not block this one any more."""
    issue, (blocker, _) = await _waiting_issue(request, index), await _other_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.remove_dependency(tx, context, issue, blocker, on=issue)
    return present(request, issue)


@get(
    BLOCKS,
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="issueListBlocks",
    tags=["issue"],
)
async def list_blocks(request: IssuesRequest, index: int) -> Response[list[Issue]]:
    """The issues that an issue blocks, open and closed ones."""
    return await _list_page(request, index, blocked=True)


async def _blocked_issue(request: IssuesRequest, meta: IssueMeta) -> IssueDetails:
    """The issue that is to be blocked: the caller must be able to write to its repository. Raises NotFound or Denied."""
    issue, access = await _other_issue(request, meta)
    require(access, request.principal, "write")
    own = issue.repository_id == request.repository_id
    if not (await _has_dependencies(request) if own else has_dependencies(access.repository)):
        raise NotFound(NO_DEPENDENCIES)
    return issue


@post(
    BLOCKS,
    policy=in_repository("write", "write:issue", "issues"),
    operation_id="issueCreateIssueBlocking",
    tags=["issue"],
    status_code=201,
)
async def add_block(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Let this issue block another one, whose repository the caller may write to."""
    blocker, issue = await issue_of(request, index), await _blocked_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.add_dependency(tx, context, issue, blocker, on=blocker)
    return present(request, blocker)


@delete(
    BLOCKS,
    policy=in_repository("write", "write:issue", "issues"),
    operation_id="issueRemoveIssueBlocking",
    tags=["issue"],
    status_code=200,
)
async def remove_block(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Let this issue not block another one any more, whose repository the caller may write to."""
    blocker, issue = await issue_of(request, index), await _blocked_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.remove_dependency(tx, context, issue, blocker, on=blocker)
    return present(request, blocker)


routes = [list_dependencies, add_dependency, remove_dependency, list_blocks, add_block, remove_block]
