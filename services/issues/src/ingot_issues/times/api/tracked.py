"""Routes of times that people tracked on issues."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import ApiError, BadRequest, Denied, NotFound
from ingot_chassis.http.policy import signed_in
from ingot_chassis.http.times import in_utc
from ingot_contracts.issues.issues import Issue, TrackedTime
from ingot_contracts.limits import Name
from ingot_contracts.repos.repositories import Repository
from ingot_issues.access.api import queries
from ingot_issues.access.api.logins import resolve_readers
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import issue_id_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_administer, may_track_time, reads, tracks_time
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.rules.views import issue_view
from ingot_issues.issues.store import lists as searches
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.times.rules import tracked as times
from ingot_issues.times.rules.tracked import time_view
from ingot_issues.times.store import tracked as store
from ingot_issues.times.store.tracked import TimeRow


class AddTimeOption(msgspec.Struct):
    """New tracked time in seconds. `created` is now by default. `user_name` is the person who spent it."""

    time: int = 0
    created: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    user_name: Name = ""


async def _list_page(
    request: IssuesRequest, repository: Repository | None, since: str, before: str, **filters: Any
) -> Response[list[TrackedTime]]:
    """Return a page of times. ``filters`` are arguments of ``store.list_page``.

    ``repository`` None: times of several repositories.
    """
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(
            db, page, since=queries.moment(since), before=queries.end(before), **filters
        )
        times = await _present(request, db, rows, repository)
    return Response(times, headers=request.page_headers(page, total))


async def _present(
    request: IssuesRequest, db: Executor, rows: Sequence[TimeRow], repository: Repository | None
) -> list[TrackedTime]:
    """Return times with their issues. The issue is None if its unit is disabled in the repository."""
    people = await accounts.get_people(db, (row.account_id for row in rows))
    if repository is None:
        shown = await repositories.get_many(db, {row.repository_id for row in rows})
    else:
        shown = {repository.id: repository}
    details = await searches.list_details(db, sorted({row.issue_id for row in rows}))
    presenter, issues = request.presenter, dict[int, Issue]()
    for issue in details:
        of = shown.get(issue.repository_id)
        if of and (of.has_pull_requests if issue.is_pull else of.has_issues):
            issues[issue.id] = issue_view(presenter, issue, of)
    return [
        time_view(
            row, user_name=presenter.user(people.get(row.account_id)).login, issue=issues.get(row.issue_id)
        )
        for row in rows
    ]


async def _account_id(request: IssuesRequest, login: str) -> int:
    """Return the id of an account. Raises NotFound."""
    async with request.db.read() as db:
        account_id = await accounts.get_id(db, queries.storable(login))
    return account_id or (await request.components.identity.account_by_name(login)).id


@get(
    "/issues/{index:int}/times",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueTrackedTimes",
    tags=["issue"],
)
async def list_issue_times(
    request: IssuesRequest, index: int, user: str = "", since: str = "", before: str = ""
) -> Response[list[TrackedTime]]:
    """List the times of an issue. With `user`, list only times of that person.

    404 if the repository does not track time.
    """
    issue_id = await issue_id_of(request, index)
    await require_tracker(request, NotFound)
    account_id = await _account_id(request, user) if user else None
    return await _list_page(
        request, request.access.repository, since, before, issue_id=issue_id, account_id=account_id
    )


@post(
    "/issues/{index:int}/times",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueAddTime",
    tags=["issue"],
    status_code=200,
    error_statuses={422: 400},
)
async def add_time(request: IssuesRequest, index: int, data: AddTimeOption) -> TrackedTime:
    """Add tracked time for the caller. Allowed for writers, the author and assignees.

    The repository can allow it for all users. With `user_name`, administrators add the time of another
    reader of the repository.
    """
    issue, account_id = await tracked_issue(request, index, BadRequest), request.principal.id
    if data.user_name and data.user_name.lower() != request.principal.name.lower():
        if not await request.allowed(may_administer):
            raise Denied("only administrators of the repository add the time of others")
        [account_id] = await resolve_readers(request, [data.user_name], "user_name")
    at = in_utc(data.created, "created") if data.created else None
    context = await request.context()
    async with request.db.transaction() as tx:
        row = await times.add_time(tx, context, issue, data.time, account_id=account_id, at=at)
    async with request.db.read() as db:
        [time] = await _present(request, db, [row], context.repository)
    return time


async def require_tracker(request: IssuesRequest, refusal: type[ApiError]) -> None:
    """Raise ``refusal`` if the repository does not track time."""
    if not await request.allowed(tracks_time):
        raise refusal("the repository does not track time")


async def tracked_issue(request: IssuesRequest, index: int, refusal: type[ApiError]) -> IssueDetails:
    """Return the issue on which the caller may track time.

    Raises Denied, and ``refusal`` if the repository does not track time.
    """
    issue = await issue_of(request, index)
    await require_tracker(request, refusal)
    if not await request.allowed(
        lambda access: may_track_time(access, request.principal, issue.author_id, issue.assignee_ids)
    ):
        raise Denied("only contributors may track time")
    return issue


@delete(
    "/issues/{index:int}/times",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueResetTime",
    tags=["issue"],
)
async def reset_times(request: IssuesRequest, index: int) -> None:
    """Delete all times of the caller on an issue. It is no error if there are none."""
    issue = await issue_of(request, index)
    await require_tracker(request, BadRequest)
    context = await request.context()
    async with request.db.transaction() as tx:
        rows = await store.list_of_person(tx, issue.id, request.principal.id)
        await times.delete_times(tx, context, issue, rows)


@delete(
    "/issues/{index:int}/times/{time_id:int}",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteTime",
    tags=["issue"],
)
async def delete_time(request: IssuesRequest, index: int, time_id: int) -> None:
    """Delete a time. Allowed for the person who spent it, and for administrators of the repository."""
    issue = await issue_of(request, index)
    await require_tracker(request, BadRequest)
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
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="repoTrackedTimes",
    tags=["repository"],
)
async def list_repository_times(
    request: IssuesRequest, user: str = "", since: str = "", before: str = ""
) -> Response[list[TrackedTime]]:
    """List the times of all issues of a repository. With `user`, list only times of that person."""
    await require_tracker(request, BadRequest)
    account_id = await _account_id(request, user) if user else None
    repository = request.access.repository
    return await _list_page(
        request,
        repository,
        since,
        before,
        repository_id=repository.id,
        account_id=account_id,
        **_hidden(request),
    )


@get(
    "/times/{tracker:str}",
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="userTrackedTimes",
    tags=["user"],
)
async def list_times_of_user(request: IssuesRequest, tracker: str) -> Response[list[TrackedTime]]:
    """List times of one person in a repository."""
    await require_tracker(request, BadRequest)
    account_id = await _account_id(request, tracker)
    repository = request.access.repository
    return await _list_page(
        request,
        repository,
        "",
        "",
        repository_id=repository.id,
        account_id=account_id,
        **_hidden(request),
    )


def _hidden(request: IssuesRequest) -> dict[str, set[int]]:
    """Return the filters of the store that hide issues or pull requests that the caller may not read."""
    access, own = request.whole_access, {request.repository_id}
    return {
        "without_issues": set() if reads(access, is_pull=False) else own,
        "without_pulls": set() if reads(access, is_pull=True) else own,
    }


@get(
    "/api/v1/user/times",
    policy=signed_in("read:issue"),
    operation_id="userCurrentTrackedTimes",
    tags=["user"],
)
async def list_own_times(
    request: IssuesRequest, since: str = "", before: str = ""
) -> Response[list[TrackedTime]]:
    """List times of the caller in repositories that both the caller and the token may read."""
    async with request.db.read() as db:
        repository_ids = set(await store.list_repositories(db, request.principal.id))
    if request.principal.restricted_to is not None:
        repository_ids &= set(request.principal.restricted_to)
    readable = await request.components.repos.readable(repository_ids, request.principal_token)
    return await _list_page(
        request,
        None,
        since,
        before,
        account_id=request.principal.id,
        within=readable.ids,
        without_issues=readable.without_issues,
        without_pulls=readable.without_pulls,
    )


routes = [
    list_issue_times, add_time, reset_times, delete_time, list_repository_times, list_times_of_user,
]  # fmt: skip
own_routes = [list_own_times]
