"""Who is to review a pull request."""

import asyncio

import msgspec
from litestar import delete, post

from ingot_chassis.errors import Denied, Invalid
from ingot_contracts.issues import PullReview
from ingot_issues.api.assignees import require_few, resolve_readers
from ingot_issues.api.policies import in_repository
from ingot_issues.api.pulls import pull_of
from ingot_issues.api.request import IssuesRequest
from ingot_issues.api.reviews import present
from ingot_issues.api.texts import Logins
from ingot_issues.core import reviews
from ingot_issues.core.access import may_edit_issue, may_write
from ingot_issues.core.protections import is_official
from ingot_issues.store import accounts
from ingot_issues.store.issues import PullDetails


class Reviewers(msgspec.Struct, kw_only=True):
    """Logins. Teams do not review here."""

    reviewers: Logins = []
    team_reviewers: Logins = []

    def logins(self) -> list[str]:
        """Each once. Raises Invalid for teams, and for too many people."""
        if any(self.team_reviewers):
            raise Invalid.field("team_reviewers", "unsupported", "are not asked for reviews")
        logins = [login for login in dict.fromkeys(self.reviewers) if login]
        require_few(logins, "reviewers")
        return logins


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
    """Ask people for a review: the author of the pull request and writers may. The answer is the requests."""
    pull = await _editable_pull(request, index)
    account_ids = await resolve_readers(request, data.logins(), "reviewers")
    if pull.author_id in account_ids:
        raise Invalid.field("reviewers", "own", "has the author of the pull request")
    context = await request.context()
    official_ids = await _official_ids(request, pull, account_ids)
    async with request.db.transaction() as tx:
        rows = await reviews.request_reviews(tx, context, pull, account_ids, official_ids)
    return await present(request, pull, *rows)


async def _official_ids(request: IssuesRequest, pull: PullDetails, account_ids: list[int]) -> list[int]:
    """Those of these people whose decision will count for the protection of the base branch."""
    identity, repos = request.components.identity, request.components.repos
    rule = await repos.merge_rule(
        request.repository_id, pull.base_branch, "", request.principal_token, actor_id=request.principal.id
    )

    async def is_one(account_id: int) -> bool:
        access = await repos.access_of_user_by_id(account_id, request.repository_id)
        team_ids: list[int] = []
        if rule.approving_teams:
            team_ids = await identity.team_ids(account_id, access.repository.owner.id)
        return is_official(rule, account_id, team_ids, writes=may_write(access))

    official = await asyncio.gather(*map(is_one, account_ids))
    return [account_id for account_id, one in zip(account_ids, official, strict=True) if one]


@delete(
    "/pulls/{index:int}/requested_reviewers",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoDeletePullReviewRequests",
    tags=["repository"],
    status_code=204,
)
async def withdraw_requests(request: IssuesRequest, index: int, data: Reviewers) -> None:
    """Ask people for a review no longer; somebody who was asked may say that they will not."""
    logins = data.logins()
    is_own = [login.lower() for login in logins] == [request.principal.name.lower()]
    pull = await (pull_of if is_own else _editable_pull)(request, index)
    async with request.db.read() as db:
        ids_by_login = await accounts.user_ids_by_login(db, logins)
    for login in logins:
        if login.lower() not in ids_by_login:
            raise Invalid.field("reviewers", "unknown", f"{login!r} is no user")
    context = await request.context()
    async with request.db.transaction() as tx:
        await reviews.withdraw_requests(tx, context, pull, list(ids_by_login.values()))


routes = [request_reviews, withdraw_requests]
