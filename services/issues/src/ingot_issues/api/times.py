"""Time that people tracked on issues."""

from typing import Any

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.policy import signed_in
from ingot_contracts.issues import TrackedTime
from ingot_issues.api import queries
from ingot_issues.api.issues import issue_of
from ingot_issues.api.policies import in_repository
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core import times
from ingot_issues.core.access import may_administer, may_track_time
from ingot_issues.store import accounts
from ingot_issues.store import times as store
from ingot_issues.store.issues import IssueDetails


class AddTime(msgspec.Struct):
    """``time`` in seconds."""

    time: int = 0


async def _list_page(request: IssuesRequest, **filters: Any) -> Response[list[TrackedTime]]:
    """``filters`` as for the store."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, page, **filters)
    return Response([request.presenter.time(row) for row in rows], headers=request.page_headers(page, total))


@get(
    "/issues/{index:int}/times",
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="issueTrackedTimes",
    tags=["issue"],
)
async def list_issue_times(request: IssuesRequest, index: int) -> Response[list[TrackedTime]]:
    """Times of an issue."""
    issue = await issue_of(request, index)
    return await _list_page(request, issue_id=issue.id)


@post(
    "/issues/{index:int}/times",
    policy=in_repository("signed-in", "write:issue", "issues"),
    operation_id="issueAddTime",
    tags=["issue"],
    status_code=200,
)
async def add_time(request: IssuesRequest, index: int, data: AddTime) -> TrackedTime:
    """Add time that the caller spent: writers, the author and assignees may."""
    issue, context = await tracked_issue(request, index), await request.context()
    async with request.db.transaction() as tx:
        return await times.add_time(tx, context, issue, data.time)


async def tracked_issue(request: IssuesRequest, index: int) -> IssueDetails:
    """The issue on which the caller may track time. Raises Denied."""
    issue = await issue_of(request, index)
    if not await request.allowed(
        lambda access: may_track_time(access, request.principal, issue.author_id, issue.assignee_ids)
    ):
        raise Denied("only contributors may track time")
    return issue


@delete(
    "/issues/{index:int}/times",
    policy=in_repository("signed-in", "write:issue", "issues"),
    operation_id="issueResetTime",
    tags=["issue"],
)
async def reset_times(request: IssuesRequest, index: int) -> None:
    """Delete all time that the caller spent on an issue. There is no error when there is none."""
    issue, context = await issue_of(request, index), await request.context()
    async with request.db.transaction() as tx:
        rows = await store.list_of_person(tx, issue.id, request.principal.id)
        await times.delete_times(tx, context, issue, rows)


@delete(
    "/issues/{index:int}/times/{time_id:int}",
    policy=in_repository("signed-in", "write:issue", "issues"),
    operation_id="issueDeleteTime",
    tags=["issue"],
)
async def delete_time(request: IssuesRequest, index: int, time_id: int) -> None:
    """Delete a time: who spent it and administrators of the repository may."""
    issue = await issue_of(request, index)
    async with request.db.read() as db:
        row = (await store.get_many(db, [time_id])).get(time_id)
    if row is None or row.issue_id != issue.id:
        raise NotFound
    if row.account_id != request.principal.id and not await request.allowed(may_administer):
        raise Denied("only who spent it and administrators of the repository may delete it")
    context = await request.context()
    async with request.db.transaction() as tx:
        await times.delete_times(tx, context, issue, [row])


@get(
    "/times",
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="repoTrackedTimes",
    tags=["repository"],
)
async def list_repository_times(request: IssuesRequest) -> Response[list[TrackedTime]]:
    """Times of all issues of a repository."""
    return await _list_page(request, repository_id=request.repository_id)


@get(
    "/times/{tracker:str}",
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="userTrackedTimes",
    tags=["user"],
)
async def list_times_of_user(request: IssuesRequest, tracker: str) -> Response[list[TrackedTime]]:
    """Times of one person in a repository."""
    async with request.db.read() as db:
        account_id = await accounts.get_id(db, queries.storable(tracker))
    if account_id is None:
        account_id = (await request.components.identity.account_by_name(tracker)).id
    return await _list_page(request, repository_id=request.repository_id, account_id=account_id)


@get(
    "/api/v1/user/times",
    policy=signed_in("read:issue"),
    operation_id="userCurrentTrackedTimes",
    tags=["user"],
)
async def list_own_times(request: IssuesRequest) -> Response[list[TrackedTime]]:
    """Times of the caller, in repositories that the caller may still read and that the token has access to."""
    async with request.db.read() as db:
        repository_ids = set(await store.list_repositories(db, request.principal.id))
    if request.principal.restricted_to is not None:
        repository_ids &= set(request.principal.restricted_to)
    readable = await request.components.repos.readable(repository_ids, request.principal_token)
    return await _list_page(request, account_id=request.principal.id, within=readable)


routes = [
    list_issue_times, add_time, reset_times, delete_time, list_repository_times, list_times_of_user,
]  # fmt: skip
own_routes = [list_own_times]
