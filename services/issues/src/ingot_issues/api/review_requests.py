"""Who is to review a pull request."""

from litestar import delete, post

from ingot_chassis.errors import Denied, Invalid
from ingot_contracts.issues import PullReview
from ingot_issues.api.policies import in_repository
from ingot_issues.api.pulls import pull_of
from ingot_issues.api.request import IssuesRequest
from ingot_issues.api.reviewers import Reviewers, requests_of, resolve_teams
from ingot_issues.api.reviews import present
from ingot_issues.core import reviews
from ingot_issues.core.access import may_edit_issue
from ingot_issues.store import accounts
from ingot_issues.store.issues import PullDetails


async def _editable_pull(request: IssuesRequest, index: int) -> PullDetails:
    """Raises Denied for others than its author and writers."""
    pull = await pull_of(request, index)
    if not await request.allowed(lambda access: may_edit_issue(access, request.principal, pull.author_id)):
        raise Denied("only its author and writers of the repository may ask for reviews")
    return pull


@post(
    "/pulls/{index:int}/requested_reviewers",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoCreatePullReviewRequests",
    tags=["repository"],
    status_code=201,
)
async def request_reviews(request: IssuesRequest, index: int, data: Reviewers) -> list[PullReview]:
    """Ask people and teams for a review: the author of the pull request and writers may. The answer is the requests."""
    pull = await _editable_pull(request, index)
    await request.require_unblocked(pull.author_id)
    requests = await requests_of(request, data, base_branch=pull.base_branch, author_id=pull.author_id)
    context = await request.context()
    async with request.db.transaction() as tx:
        rows = await reviews.request_reviews(tx, context, pull, requests)
    return await present(request, pull, *rows)


@delete(
    "/pulls/{index:int}/requested_reviewers",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoDeletePullReviewRequests",
    tags=["repository"],
    status_code=204,
)
async def withdraw_requests(request: IssuesRequest, index: int, data: Reviewers) -> None:
    """Ask people and teams for a review no longer; somebody who was asked may say that they will not."""
    logins, team_names = data.logins, data.team_names
    is_own = not team_names and [login.lower() for login in logins] == [request.principal.name.lower()]
    pull = await (pull_of if is_own else _editable_pull)(request, index)
    team_ids = [team.id for team in await resolve_teams(request, team_names)]
    async with request.db.read() as db:
        ids_by_login = await accounts.user_ids_by_login(db, logins)
    for login in logins:
        if login.lower() not in ids_by_login:
            raise Invalid.field("reviewers", "unknown", f"{login!r} is no user")
    context = await request.context()
    async with request.db.transaction() as tx:
        await reviews.withdraw_requests(tx, context, pull, list(ids_by_login.values()), team_ids)


routes = [request_reviews, withdraw_requests]
