"""Routes of reviews of pull requests."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Literal

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Denied, Invalid, NotFound, Unavailable
from ingot_contracts.issues.reviews import PullReview
from ingot_contracts.limits import Description, Name, Text
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_administer, may_write
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.markdown.api.texts import Markdown
from ingot_issues.records.rules.targets import ReviewTarget, present_target
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store import timeline
from ingot_issues.records.store.issues import AnyPull, PullRow
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.reviewers.store import teams
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviews import store
from ingot_issues.reviews.rules import submission as reviews
from ingot_issues.reviews.rules.commits import is_of_pull
from ingot_issues.reviews.rules.diff_hunks import Position, find_hunks
from ingot_issues.reviews.rules.submission import NewComment, NewReview
from ingot_issues.reviews.rules.views import review_view
from ingot_issues.reviews.store import ReviewRow

MOST_COMMENTS = 100
"""Maximum number of comments of one new review."""
LARGEST_DIFF = 5_000_000
"""Limit of a diff in bytes. Comments on lines of a larger diff have no hunk."""

MAY_COUNT = (*store.DECISIONS, ReviewState.REQUEST_REVIEW)
"""States of reviews that can count for the protection of a branch."""
ReviewEvent = Literal["APPROVED", "APPROVE", "PENDING", "COMMENT", "REQUEST_CHANGES", "REQUEST_REVIEW"]
STATES_OF_EVENTS = {"APPROVE": ReviewState.APPROVED, "REQUEST_REVIEW": ReviewState.PENDING}
"""The state for each event. ``APPROVE`` is the name in other forges. As in Gitea, a request is pending."""
Line = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Commit = Annotated[str, msgspec.Meta(pattern="^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})?$")]


class CommentOnLine(msgspec.Struct, kw_only=True):
    """A comment on a line.

    ``old_position`` is a line before the changes, ``new_position`` a line after them.
    """

    path: Description = ""
    body: Markdown = ""
    old_position: Line = 0
    new_position: Line = 0


class SubmitReview(msgspec.Struct, kw_only=True):
    """A review to submit. Without ``event`` it is saved as pending."""

    body: Markdown = ""
    event: ReviewEvent = "PENDING"

    @property
    def state(self) -> ReviewState:
        return STATES_OF_EVENTS.get(self.event) or ReviewState(self.event)


class CreateReview(SubmitReview, kw_only=True):
    """A review of `commit_id`, as changes since `merge_base`, for `base_branch`.

    The commit is one that the pull request has, or a head that it had. An empty field stands for the current
    value. `merge_base` is required with a `base_branch` if `commit_id` or `base_branch` is not the current
    value.

    A review of other changes is recorded as stale. A review with `commit_id` alone is stale, too, if the base
    branch was ever changed: the caller may have read the changes for another base.
    """

    commit_id: Commit = ""
    base_branch: Name = ""
    merge_base: Commit = ""
    comments: Annotated[list[CommentOnLine], msgspec.Meta(max_length=MOST_COMMENTS)] = []


class DismissReview(msgspec.Struct, kw_only=True):
    """A dismissal. ``priors``: dismiss the author's earlier decisions as well."""

    message: Text = ""
    priors: bool = False


async def pull_row_of(request: IssuesRequest, number: int) -> PullRow:
    """Return the row of the numbered pull request, without details. Raises NotFound."""
    async with request.db.read() as db:
        row = await issue_rows.get_pull(db, request.repository_id, number)
    if row is None:
        raise NotFound
    await request.enter(is_pull=True)
    return row


async def present(request: IssuesRequest, pull: AnyPull, *rows: ReviewRow) -> list[PullReview]:
    """Return reviews of a pull request. Unless it is merged, asks repos which reviews are official now."""
    official = await _official(request, pull, rows)
    async with request.db.read() as db:
        people = await accounts.get_people(db, (row.author_id for row in rows))
        copies = await teams.get_many(db, {row.team_id for row in rows if row.team_id is not None})
    presenter, repository = request.presenter, request.access.repository
    return [
        review_view(presenter, row, pull, repository, people, copies, official=is_official)
        for row, is_official in zip(rows, official, strict=True)
    ]


async def _official(request: IssuesRequest, pull: AnyPull, rows: Sequence[ReviewRow]) -> list[bool | None]:
    """Return for each review whether it counts now. None: use the recorded value.

    The recorded value is used for settled and imported reviews, and while repos does not respond.
    """
    own = [row for row in rows if not row.original_author and not row.original_author_id]
    counting = [row for row in own if not pull.merged and row.state in MAY_COUNT]
    try:
        official = await request.components.repos.official_reviewers(
            request.repository_id,
            pull.base_branch,
            {row.author_id for row in counting if row.team_id is None},
            {row.team_id for row in counting if row.team_id is not None},
        )
    except Unavailable:
        return [None] * len(rows)
    counting_ids = {row.id for row in counting}
    return [
        (row.author_id in official.accounts if row.team_id is None else row.team_id in official.teams)
        if row.id in counting_ids
        else None
        for row in rows
    ]


async def review_of(request: IssuesRequest, pull: PullDetails, review_id: int) -> ReviewRow:
    """Return the review. Raises NotFound, also for the pending review of another person."""
    async with request.db.read() as db:
        row = await store.get(db, pull.id, review_id)
    if row is None or (row.state == ReviewState.PENDING and row.author_id != request.principal.id):
        raise NotFound
    return row


async def _comments_of(
    request: IssuesRequest, target: ReviewTarget, comments: list[CommentOnLine]
) -> list[NewComment]:
    """Return new comments with their diff hunks, if the diff still exists. Raises Invalid."""
    if not comments:
        return []
    for comment in comments:
        for name, text in (("path", comment.path), ("body", comment.body)):
            if not text.strip():
                raise Invalid.field(f"comments.{name}", "required", "is required")
    positions = {
        comment: Position(
            comment.path, comment.old_position or comment.new_position, bool(comment.old_position)
        )
        for comment in map(_frozen, comments)
    }
    diff, hunks = b"", dict[Position, str]()
    with suppress(NotFound):  # a forced push replaced the commit
        diff = await request.components.repos.diff(
            request.repository_id, target.merge_base, target.commit_sha, "diff", request.principal_token
        )
    if len(diff) <= LARGEST_DIFF:
        text = diff.decode("utf-8", "replace")
        hunks = await asyncio.to_thread(find_hunks, text, set(positions.values()))
    return [
        msgspec.structs.replace(comment, diff_hunk=hunks.get(position, ""))
        for comment, position in positions.items()
    ]


def _frozen(comment: CommentOnLine) -> NewComment:
    return NewComment(**msgspec.structs.asdict(comment))


async def _target_of(request: IssuesRequest, pull: PullDetails, data: CreateReview) -> ReviewTarget:
    """Return the target of a review. The base branch is empty if it is ambiguous.

    Raises Invalid if the commit is not of the pull request. A named base branch also needs ``merge_base`` if
    the branch or the commit is not the current value.
    """
    present = present_target(pull)
    commit_sha, base_branch = (
        data.commit_id.lower() or present.commit_sha,
        data.base_branch or present.base_branch,
    )
    is_present = (commit_sha, base_branch) == (present.commit_sha, present.base_branch)
    if data.base_branch and not data.merge_base and not is_present:
        reason = "is required if `commit_id` or `base_branch` is not the present one of the pull request"
        raise Invalid.field("merge_base", "required", reason)
    repos, token = request.components.repos, request.principal_token
    if not await is_of_pull(request.db, repos, pull, commit_sha, token):
        raise Invalid.field("commit_id", "unknown", "is not a commit of the pull request")
    if data.commit_id and not data.base_branch and not data.merge_base:
        async with request.db.read() as db:
            # The whole history, not only since the head arrived: a commit can be pushed again after another
            # one.
            if await timeline.has_reference(db, pull.id, CommentKind.BASE_CHANGED, timeline.NO_REFERENCE):
                base_branch = ""
    return ReviewTarget(commit_sha, base_branch, data.merge_base.lower() or present.merge_base)


@get(
    "/pulls/{index:int}/reviews",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoListPullReviews",
    tags=["repository"],
)
async def list_reviews(request: IssuesRequest, index: int) -> Response[list[PullReview]]:
    """List reviews, the oldest first. Pending reviews are shown only to their author."""
    pull, page = await pull_row_of(request, index), request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, pull.id, page, viewer_id=request.principal.id)
    return Response(await present(request, pull, *rows), headers=request.page_headers(page, total))


@post(
    "/pulls/{index:int}/reviews",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoCreatePullReview",
    tags=["repository"],
    status_code=200,
)
async def create_review(request: IssuesRequest, index: int, data: CreateReview) -> PullReview:
    """Review a pull request, or continue the caller's pending review.

    A locked pull request requires write access. With `commit_id` alone the review is `stale` if the base
    branch was ever changed. So send `base_branch` as well, and `merge_base` unless both are current values.
    """
    pull = await reviewable(request, index)
    target, context = await _target_of(request, pull, data), await request.context()
    on_lines = await _comments_of(request, target, data.comments)
    new_review = NewReview(
        state=data.state,
        body=data.body,
        target=target,
        comments=on_lines,
        official=await _is_official(request, pull, data.state),
        team_ids=_own_team_ids(request),
    )
    async with request.db.transaction() as tx:
        row = await reviews.write_review(tx, context, pull, new_review)
    [review] = await present(request, pull, row)
    return review


async def reviewable(request: IssuesRequest, index: int) -> PullDetails:
    """Return a pull request that the caller may review. Raises NotFound, Denied."""
    pull = await pull_of(request, index)
    if pull.locked and not await request.allowed(may_write):
        raise Denied("the conversation is locked")
    await request.require_unblocked(pull.author_id)
    return pull


async def _is_official(request: IssuesRequest, pull: PullDetails, state: ReviewState) -> bool:
    """Return whether the caller's decision counts for the protection of the base branch."""
    if state not in store.DECISIONS:
        return False
    official = await request.components.repos.official_reviewers(
        request.repository_id, pull.base_branch, [request.principal.id]
    )
    return request.principal.id in official.accounts


def _own_team_ids(request: IssuesRequest) -> list[int]:
    """Return the ids of the caller's teams in the organization that owns the repository."""
    membership = request.principal.organizations.get(request.access.repository.owner.id)
    return sorted(membership.teams) if membership is not None else []


@get(
    "/pulls/{index:int}/reviews/{review_id:int}",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullReview",
    tags=["repository"],
)
async def get_review(request: IssuesRequest, index: int, review_id: int) -> PullReview:
    """Get a review."""
    pull = await pull_of(request, index)
    [review] = await present(request, pull, await review_of(request, pull, review_id))
    return review


@post(
    "/pulls/{index:int}/reviews/{review_id:int}",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoSubmitPullReview",
    tags=["repository"],
    status_code=200,
)
async def submit_review(request: IssuesRequest, index: int, review_id: int, data: SubmitReview) -> PullReview:
    """Submit the pending review of the caller. Without an `event` it is a comment."""
    pull = await reviewable(request, index)
    row, context = await review_of(request, pull, review_id), await request.context()
    state = ReviewState.COMMENT if data.state == ReviewState.PENDING else data.state
    submission = NewReview(
        state=state,
        body=data.body,
        target=ReviewTarget(row.commit_sha, row.base_branch, row.merge_base),
        official=await _is_official(request, pull, state),
        team_ids=_own_team_ids(request),
    )
    async with request.db.transaction() as tx:
        submitted = await reviews.submit_review(tx, context, pull, review_id, submission)
    [review] = await present(request, pull, submitted)
    return review


@delete(
    "/pulls/{index:int}/reviews/{review_id:int}",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoDeletePullReview",
    tags=["repository"],
)
async def delete_review(request: IssuesRequest, index: int, review_id: int) -> None:
    """Delete a review. Allowed for its author and for site administrators. Other users can dismiss it."""
    pull = await pull_of(request, index)
    row = await review_of(request, pull, review_id)
    if row.author_id != request.principal.id and not request.principal.admin:
        raise Denied("only its author and site administrators may delete it")
    context = await request.context()
    async with request.db.transaction() as tx:
        await reviews.delete_review(tx, context, pull, row.id)


@post(
    "/pulls/{index:int}/reviews/{review_id:int}/dismissals",
    policy=in_repository("write", "write:repository", "pulls"),
    operation_id="repoDismissPullReview",
    tags=["repository"],
    status_code=200,
)
async def dismiss_review(
    request: IssuesRequest, index: int, review_id: int, data: DismissReview
) -> PullReview:
    """Dismiss an approval or a request for changes. Allowed for administrators of the repository."""
    pull = await _administered(request, index)
    context = await request.context()
    async with request.db.transaction() as tx:
        row = await reviews.dismiss_review(tx, context, pull, review_id, data.message, priors=data.priors)
    [review] = await present(request, pull, row)
    return review


@post(
    "/pulls/{index:int}/reviews/{review_id:int}/undismissals",
    policy=in_repository("write", "write:repository", "pulls"),
    operation_id="repoUnDismissPullReview",
    tags=["repository"],
    status_code=200,
)
async def restore_review(request: IssuesRequest, index: int, review_id: int) -> PullReview:
    """Restore a dismissed review, so it counts again. Allowed for administrators of the repository."""
    pull = await _administered(request, index)
    context = await request.context()
    async with request.db.transaction() as tx:
        row = await reviews.restore_review(tx, context, pull, review_id)
    [review] = await present(request, pull, row)
    return review


async def _administered(request: IssuesRequest, index: int) -> PullDetails:
    """Return the pull request. Raises Denied unless the caller administers the repository."""
    pull = await pull_of(request, index)
    if not await request.allowed(may_administer):
        raise Denied("only administrators of the repository may do that")
    return pull


routes = [
    list_reviews, create_review, get_review, submit_review, delete_review, dismiss_review, restore_review,
]  # fmt: skip
