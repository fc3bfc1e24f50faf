"""Requests for reviews of a pull request."""

from litestar import delete, post

from ingot_chassis.errors import Denied, Invalid
from ingot_contracts.issues.reviews import PullReview
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_edit_issue
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.reviews.api.reviewers import Reviewers, requests_of, resolve_teams
from ingot_issues.reviews.api.routes import present
from ingot_issues.reviews.rules import submission as reviews


async def _editable_pull(request: IssuesRequest, index: int) -> PullDetails:
    """Return the pull request. Raises Denied unless the caller is its author or may write."""
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
    """Request reviews from people and teams, and return the requests.

    Allowed for the author of the pull request, and for users with write access.
    """
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
    """Withdraw requests for reviews.

    Allowed for the author of the pull request, and for users with write access.

    Requested reviewers may withdraw their own requests.
    """
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
