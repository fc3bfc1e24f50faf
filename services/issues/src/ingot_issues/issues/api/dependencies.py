"""Issues that block an issue, and issues that it blocks."""

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.paging import Page
from ingot_contracts.issues.issues import Issue
from ingot_contracts.limits import Name
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import issue_id_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import Unit, allows, has_dependencies, in_unit, reads, require
from ingot_issues.dependencies import rules as dependencies
from ingot_issues.dependencies import store
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.api.routes import present
from ingot_issues.issues.rules.views import issue_view
from ingot_issues.issues.store import dependencies as dependency_lists
from ingot_issues.issues.store import details as issues
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.repositories.store import copies as repositories

DEPENDENCIES = "/issues/{index:int}/dependencies"
BLOCKS = "/issues/{index:int}/blocks"
NO_DEPENDENCIES = "issues of the repository have no dependencies"


class IssueMeta(msgspec.Struct, kw_only=True):
    """The key of an issue or pull request. ``owner`` and ``repo`` default to the repository in the path."""

    index: int
    owner: Name = ""
    repo: Name = ""


async def _other_issue(request: IssuesRequest, meta: IssueMeta) -> tuple[IssueDetails, RepositoryAccess]:
    """Return the issue named in the body, and the caller's access to its repository.

    Raises NotFound, also if the caller may not read the issue.
    """
    access = await _other_access(request, meta)
    async with request.db.read() as db:
        issue = await issues.get_details(db, access.repository.id, meta.index)
    if issue is None:
        raise NotFound("the other issue does not exist")
    kind: Unit = "pulls" if issue.is_pull else "issues"
    access = in_unit(access, kind)
    if not allows(access, request.principal, "read", kind):
        raise NotFound("the other issue does not exist")
    if access.repository.id != request.repository_id:
        async with request.db.transaction() as tx:
            await repositories.add_missing(tx, access.repository)
    return issue, access


async def _other_access(request: IssuesRequest, meta: IssueMeta) -> RepositoryAccess:
    own = request.access.repository
    owner, name = meta.owner or own.owner.login, meta.repo or own.name
    if f"{owner}/{name}".lower() == own.full_name.lower():
        return request.whole_access
    try:
        return await request.components.repos.access(owner, name, request.principal_token)
    except NotFound:
        raise NotFound("the other issue does not exist") from None


async def uses_dependencies(request: IssuesRequest) -> bool:
    """Return whether issues of the repository in the path may block other issues.

    A cached False is checked with repos again.
    """
    return await request.allowed(lambda access: has_dependencies(access.repository))


async def _require_dependencies(request: IssuesRequest) -> None:
    """Raise NotFound if dependencies are switched off in the repository."""
    if not await uses_dependencies(request):
        raise NotFound(NO_DEPENDENCIES)


async def _waiting_issue(request: IssuesRequest, index: int) -> IssueDetails:
    """Return the issue in the path. Raises NotFound, also if dependencies are disabled."""
    issue = await issue_of(request, index)
    await _require_dependencies(request)
    return issue


async def _list_page(request: IssuesRequest, index: int, *, blocked: bool) -> Response[list[Issue]]:
    """Return a page of related issues.

    ``blocked``: issues that this issue blocks; otherwise issues that block it. The latter raises NotFound if
    dependencies are disabled.
    """
    issue_id, page = await issue_id_of(request, index), request.page()
    if not blocked:
        await _require_dependencies(request)
    rows, total = await related_page(request, issue_id, page, blocked=blocked)
    return Response(rows, headers=request.page_headers(page, total))


async def related_page(
    request: IssuesRequest, issue_id: int, page: Page, *, blocked: bool
) -> tuple[list[Issue], int]:
    """Return a page of related issues, and their number.

    ``blocked``: issues that the issue blocks; otherwise issues that block it. Issues that the caller cannot
    read are omitted and not counted.
    """
    async with request.db.read() as db:
        involved = await store.list_repositories(db, issue_id, blocked=blocked)
    if not involved:
        return [], 0
    others = involved - {request.repository_id}
    whole, own = request.whole_access, {request.repository_id}
    own_issues, own_pulls = (own if reads(whole, is_pull=is_pull) else set() for is_pull in (False, True))
    readable = await request.components.repos.readable(others, request.principal_token)
    async with request.db.read() as db:
        rows, total = await dependency_lists.list_page(
            db,
            issue_id,
            page,
            blocked=blocked,
            issues_within=readable.ids - readable.without_issues | own_issues,
            pulls_within=readable.ids - readable.without_pulls | own_pulls,
        )
        copies = await repositories.get_many(db, {row.repository_id for row in rows})
    copies[request.repository_id] = request.access.repository
    presenter = request.presenter
    return [issue_view(presenter, row, copies[row.repository_id]) for row in rows], total


@get(
    DEPENDENCIES,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueListIssueDependencies",
    tags=["issue"],
)
async def list_dependencies(request: IssuesRequest, index: int) -> Response[list[Issue]]:
    """List the issues that block an issue, open and closed. 404 if dependencies are switched off."""
    return await _list_page(request, index, blocked=False)


@post(
    DEPENDENCIES,
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueCreateIssueDependencies",
    tags=["issue"],
    status_code=201,
)
async def add_dependency(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Block this issue until another issue is closed."""
    issue, (blocker, _) = await _waiting_issue(request, index), await _other_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.add_dependency(tx, context, issue, blocker, on=issue)
    return present(request, issue)


@delete(
    DEPENDENCIES,
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueRemoveIssueDependencies",
    tags=["issue"],
    status_code=200,
)
async def remove_dependency(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Stop another issue from blocking this issue."""
    issue, (blocker, _) = await _waiting_issue(request, index), await _other_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.remove_dependency(tx, context, issue, blocker, on=issue)
    return present(request, issue)


@get(
    BLOCKS,
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueListBlocks",
    tags=["issue"],
)
async def list_blocks(request: IssuesRequest, index: int) -> Response[list[Issue]]:
    """List the issues that an issue blocks, open and closed."""
    return await _list_page(request, index, blocked=True)


async def _blocked_issue(request: IssuesRequest, meta: IssueMeta) -> IssueDetails:
    """Return the issue to block. The caller must be able to write to its repository.

    Raises NotFound or Denied.
    """
    issue, access = await _other_issue(request, meta)
    require(access, request.principal, "write")
    own = issue.repository_id == request.repository_id
    if not (await uses_dependencies(request) if own else has_dependencies(access.repository)):
        raise NotFound(NO_DEPENDENCIES)
    return issue


@post(
    BLOCKS,
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueCreateIssueBlocking",
    tags=["issue"],
    status_code=201,
)
async def add_block(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Make this issue block another issue. Requires write access to the repository of the other issue."""
    blocker, issue = await issue_of(request, index), await _blocked_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.add_dependency(tx, context, issue, blocker, on=blocker)
    return present(request, blocker)


@delete(
    BLOCKS,
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueRemoveIssueBlocking",
    tags=["issue"],
    status_code=200,
)
async def remove_block(request: IssuesRequest, index: int, data: IssueMeta) -> Issue:
    """Stop this issue from blocking another issue.

    Requires write access to the repository of the other issue.
    """
    blocker, issue = await issue_of(request, index), await _blocked_issue(request, data)
    context = await request.context()
    async with request.db.transaction() as tx:
        await dependencies.remove_dependency(tx, context, issue, blocker, on=blocker)
    return present(request, blocker)


routes = [list_dependencies, add_dependency, remove_dependency, list_blocks, add_block, remove_block]
