"""Routes of stopwatches on issues."""

from datetime import datetime

import msgspec
from litestar import MediaType, Response, delete, get, post

from ingot_chassis.clock import now
from ingot_chassis.errors import Denied
from ingot_chassis.http.policy import signed_in
from ingot_contracts.repos.repositories import Repository
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.times.api.tracked import tracked_issue
from ingot_issues.times.rules import stopwatches
from ingot_issues.times.store import stopwatches as store
from ingot_issues.times.store.stopwatches import StopwatchRow


class Stopwatch(msgspec.Struct):
    """A running stopwatch. ``duration`` is ``seconds`` in words, such as ``1h2m3s``."""

    created: datetime
    seconds: int
    duration: str
    issue_index: int
    issue_title: str
    repo_owner_name: str
    repo_name: str


def _present(row: StopwatchRow, repository: Repository) -> Stopwatch:
    seconds = max(0, int((now() - row.created_at).total_seconds()))
    hours, minutes = divmod(seconds // 60, 60)
    parts = [f"{hours}h"] * (hours > 0) + [f"{minutes}m"] * (seconds >= 60)
    return Stopwatch(
        created=row.created_at.replace(microsecond=0),
        seconds=seconds,
        duration="".join([*parts, f"{seconds % 60}s"]),
        issue_index=row.number,
        issue_title=row.title,
        repo_owner_name=repository.owner.login,
        repo_name=repository.name,
    )


@post(
    "/issues/{index:int}/stopwatch/start",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueStartStopWatch",
    tags=["issue"],
    status_code=201,
    media_type=MediaType.TEXT,
)
async def start_stopwatch(request: IssuesRequest, index: int) -> None:
    """Start a stopwatch of the caller. Requires the right to track time.

    The status is 409 if the caller's stopwatch on this issue is already running.
    """
    issue, context = await tracked_issue(request, index, Denied), await request.context()
    async with request.db.transaction() as tx:
        await stopwatches.start_stopwatch(tx, context, issue)


@post(
    "/issues/{index:int}/stopwatch/stop",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueStopStopWatch",
    tags=["issue"],
    status_code=201,
    media_type=MediaType.TEXT,
)
async def stop_stopwatch(request: IssuesRequest, index: int) -> None:
    """Stop the caller's stopwatch, and add its time to the tracked times.

    The status is 409 if none is running.
    """
    issue, context = await tracked_issue(request, index, Denied), await request.context()
    async with request.db.transaction() as tx:
        await stopwatches.stop_stopwatch(tx, context, issue)


@delete(
    "/issues/{index:int}/stopwatch/delete",
    policy=in_repository("signed-in", "write:issue", "numbered"),
    operation_id="issueDeleteStopWatch",
    tags=["issue"],
)
async def cancel_stopwatch(request: IssuesRequest, index: int) -> None:
    """Stop the caller's stopwatch, and discard its time. The status is 409 if none is running."""
    issue, context = await tracked_issue(request, index, Denied), await request.context()
    async with request.db.transaction() as tx:
        await stopwatches.cancel_stopwatch(tx, context, issue)


@get(
    "/api/v1/user/stopwatches",
    policy=signed_in("read:issue"),
    operation_id="userGetStopWatches",
    tags=["user"],
)
async def list_own_stopwatches(request: IssuesRequest) -> Response[list[Stopwatch]]:
    """List stopwatches of the caller in repositories that both the caller and the token may read."""
    page = request.page()
    async with request.db.read() as db:
        repository_ids = set(await store.list_repositories(db, request.principal.id))
    if request.principal.restricted_to is not None:
        repository_ids &= set(request.principal.restricted_to)
    readable = await request.components.repos.readable(repository_ids, request.principal_token)
    async with request.db.read() as db:
        rows, total = await store.list_page(
            db,
            request.principal.id,
            page,
            within=readable.ids,
            without_issues=readable.without_issues,
            without_pulls=readable.without_pulls,
        )
        copies = await repositories.get_many(db, {row.repository_id for row in rows})
    page_stopwatches = [_present(row, copies[row.repository_id]) for row in rows]
    return Response(page_stopwatches, headers=request.page_headers(page, total))


routes = [start_stopwatch, stop_stopwatch, cancel_stopwatch]
own_routes = [list_own_stopwatches]
