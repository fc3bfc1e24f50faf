"""Pinned issues and pull requests."""

import msgspec
from litestar import delete, get, patch, post

from ingot_chassis.errors import Denied
from ingot_contracts.issues.issues import Issue
from ingot_contracts.issues.pulls import PullRequest
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_administer
from ingot_issues.issues.api import presentation
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.rules import pins
from ingot_issues.issues.rules.views import issue_view
from ingot_issues.issues.store import pins as store
from ingot_issues.issues.store.details import IssueDetails


class NewIssuePinsAllowed(msgspec.Struct):
    """The free pins of a repository. True: one more issue, or one more pull request, can be pinned."""

    issues: bool
    pull_requests: bool


async def _pinnable_issue(request: IssuesRequest, index: int) -> IssueDetails:
    """Return the issue to pin. Raises Denied unless the caller administers the repository."""
    issue = await issue_of(request, index)
    if not await request.allowed(may_administer):
        raise Denied("only administrators of the repository may pin")
    return issue


@get(
    "/issues/pinned",
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="repoListPinnedIssues",
    tags=["repository"],
)
async def list_pinned_issues(request: IssuesRequest) -> list[Issue]:
    """List pinned issues in the order of the pins."""
    async with request.db.read() as db:
        rows = await store.list_details(db, request.repository_id, is_pull=False)
    presenter, repository = request.presenter, request.access.repository
    return [issue_view(presenter, row, repository) for row in rows]


@get(
    "/pulls/pinned",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoListPinnedPullRequests",
    tags=["repository"],
)
async def list_pinned_pulls(request: IssuesRequest) -> list[PullRequest]:
    """List pinned pull requests in the order of the pins."""
    async with request.db.read() as db:
        rows = await store.list_details(db, request.repository_id, is_pull=True)
    return await presentation.present_page(request, rows)


@get(
    "/new_pin_allowed",
    policy=in_repository("read", "read:repository"),
    operation_id="repoNewPinAllowed",
    tags=["repository"],
)
async def get_pins_allowed(request: IssuesRequest) -> NewIssuePinsAllowed:
    """Return whether one more issue, and one more pull request, can be pinned."""
    async with request.db.read() as db:
        issue_ids = await store.list_ids(db, request.repository_id, is_pull=False)
        pull_ids = await store.list_ids(db, request.repository_id, is_pull=True)
    return NewIssuePinsAllowed(
        issues=len(issue_ids) < pins.MOST_PINS, pull_requests=len(pull_ids) < pins.MOST_PINS
    )


@post(
    "/issues/{index:int}/pin",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="pinIssue",
    tags=["issue"],
    status_code=204,
)
async def pin_issue(request: IssuesRequest, index: int) -> None:
    """Pin an issue or pull request. Administrators of the repository may do this."""
    issue, context = await _pinnable_issue(request, index), await request.context()
    async with request.db.transaction() as tx:
        await pins.pin_issue(tx, context, issue)


@delete(
    "/issues/{index:int}/pin",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="unpinIssue",
    tags=["issue"],
)
async def unpin_issue(request: IssuesRequest, index: int) -> None:
    """Unpin an issue or pull request. Administrators of the repository may do this."""
    issue, context = await _pinnable_issue(request, index), await request.context()
    async with request.db.transaction() as tx:
        await pins.unpin_issue(tx, context, issue)


@patch(
    "/issues/{index:int}/pin/{position:int}",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="moveIssuePin",
    tags=["issue"],
    status_code=204,
)
async def move_pin(request: IssuesRequest, index: int, position: int) -> None:
    """Move a pinned issue to a position, counted from 1."""
    issue, context = await _pinnable_issue(request, index), await request.context()
    async with request.db.transaction() as tx:
        await pins.move_pin(tx, context, issue, position)


routes = [list_pinned_issues, list_pinned_pulls, get_pins_allowed, pin_issue, unpin_issue, move_pin]
