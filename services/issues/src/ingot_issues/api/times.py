"""Time that people tracked on issues."""

from typing import Any

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import Denied
from ingot_chassis.policy import resource, signed_in
from ingot_contracts.issues import TrackedTime
from ingot_issues.api import queries
from ingot_issues.api.call import Call
from ingot_issues.core import times
from ingot_issues.core.access import may_track_time
from ingot_issues.store import accounts
from ingot_issues.store import times as store
from ingot_issues.store.surroundings import Surroundings


class AddTime(msgspec.Struct):
    """``time`` in seconds."""

    time: int = 0


async def _listed(request: Call, **whose: Any) -> Response[list[TrackedTime]]:
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_of(db, page, **whose)
    return Response([request.viewing.time(row) for row in rows], headers=request.page_headers(page, total))


@get(
    "/issues/{index:int}/times",
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="issueTrackedTimes",
    tags=["issue"],
)
async def list_issue_times(request: Call, index: int) -> Response[list[TrackedTime]]:
    """Times of an issue."""
    issue = await request.issue(index)
    return await _listed(request, issue_id=issue.id)


@post(
    "/issues/{index:int}/times",
    policy=resource("signed-in", "write:issue"),
    unit="issues",
    operation_id="issueAddTime",
    tags=["issue"],
    status_code=200,
)
async def add_time(request: Call, index: int, data: AddTime) -> TrackedTime:
    """Add time that the caller spent: writers, the author and assignees may."""
    issue = await request.issue(index)
    assigned = Surroundings.of([issue]).assignees.get(issue.id, [])
    if not await request.allowed(
        lambda access: may_track_time(access, request.who, issue.author_id, assigned)
    ):
        raise Denied("only contributors may track time")
    site = await request.site()
    async with request.db.transaction() as tx:
        return await times.add_time(tx, site, issue, data.time)


@get(
    "/times",
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="repoTrackedTimes",
    tags=["repository"],
)
async def list_repository_times(request: Call) -> Response[list[TrackedTime]]:
    """Times of all issues of a repository."""
    return await _listed(request, repository_id=request.repository_id)


@get(
    "/times/{tracker:str}",
    policy=resource("read", "read:issue"),
    unit="issues",
    operation_id="userTrackedTimes",
    tags=["user"],
)
async def list_times_of_user(request: Call, tracker: str) -> Response[list[TrackedTime]]:
    """Times of one person in a repository."""
    async with request.db.read() as db:
        account_id = await accounts.id_of(db, queries.storable(tracker))
    if account_id is None:
        account_id = (await request.identity.account_named(tracker)).id
    return await _listed(request, repository_id=request.repository_id, account_id=account_id)


@get(
    "/api/v1/user/times",
    policy=signed_in("read:issue"),
    operation_id="userCurrentTrackedTimes",
    tags=["user"],
)
async def list_own_times(request: Call) -> Response[list[TrackedTime]]:
    """Times of the caller, in repositories that they may still read and that the token is good for."""
    async with request.db.read() as db:
        tracked = set(await store.repositories_of(db, request.who.id))
    if request.who.confined_to is not None:
        tracked &= set(request.who.confined_to)
    visible = await request.repos.seen(tracked, request.statement) if tracked else set[int]()
    return await _listed(request, account_id=request.who.id, among=visible)


routes = [list_issue_times, add_time, list_repository_times, list_times_of_user]
own_routes = [list_own_times]
