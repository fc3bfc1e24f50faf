"""Reviews of pull requests."""

import asyncio
from typing import Annotated, Literal

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_contracts.issues import PullReview
from ingot_contracts.limits import Description, Text
from ingot_issues.api.policies import in_repository
from ingot_issues.api.pulls import pull_of
from ingot_issues.api.request import IssuesRequest
from ingot_issues.api.texts import Markdown
from ingot_issues.core import reviews
from ingot_issues.core.access import may_administer, may_write
from ingot_issues.core.diff_hunks import Position, find_hunks
from ingot_issues.core.protections import is_official
from ingot_issues.core.reviews import NewComment, NewReview
from ingot_issues.store import accounts, issue_rows, teams
from ingot_issues.store import reviews as store
from ingot_issues.store.issue_rows import AnyPull, PullRow
from ingot_issues.store.issues import PullDetails
from ingot_issues.store.reviews import ReviewRow
from ingot_issues.store.states import ReviewState

MOST_COMMENTS = 100
"""Comments that come with one review."""
LARGEST_DIFF = 5_000_000
"""Bytes. Comments on lines of a larger diff are shown without their hunk."""

ReviewEvent = Literal["APPROVED", "APPROVE", "PENDING", "COMMENT", "REQUEST_CHANGES"]
"""``APPROVE`` is the name that other forges have for ``APPROVED``."""
Line = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Commit = Annotated[str, msgspec.Meta(pattern="^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})?$")]


class CommentOnLine(msgspec.Struct, kw_only=True):
    """``old_position`` is a line of the file before the changes, ``new_position`` one of the file after them."""

    path: Description = ""
    body: Markdown = ""
    old_position: Line = 0
    new_position: Line = 0


class SubmitReview(msgspec.Struct, kw_only=True):
    """Without ``event`` the review stays pending."""

    body: Markdown = ""
    event: ReviewEvent = "PENDING"

    @property
    def state(self) -> ReviewState:
        return ReviewState.APPROVED if self.event == "APPROVE" else ReviewState(self.event)


class CreateReview(SubmitReview, kw_only=True):
    """``commit_id`` is the commit that was looked at, the present head where it is empty."""

    commit_id: Commit = ""
    comments: Annotated[list[CommentOnLine], msgspec.Meta(max_length=MOST_COMMENTS)] = []


class DismissReview(msgspec.Struct, kw_only=True):
    """``priors``: the earlier decisions of its author as well."""

    message: Text = ""
    priors: bool = False


async def pull_row_of(request: IssuesRequest, number: int) -> PullRow:
    """The pull request of that number, without what is shown of it alone. Raises NotFound."""
    async with request.db.read() as db:
        row = await issue_rows.get_pull(db, request.repository_id, number)
    if row is None or not request.access.pulls_enabled:
        raise NotFound
    return row


async def present(request: IssuesRequest, pull: AnyPull, *rows: ReviewRow) -> list[PullReview]:
    async with request.db.read() as db:
        people = await accounts.get_people(db, (row.author_id for row in rows))
        copies = await teams.get_many(db, {row.team_id for row in rows if row.team_id is not None})
    presenter, repository = request.presenter, request.access.repository
    return [presenter.review(row, pull, repository, people, copies) for row in rows]


async def review_of(request: IssuesRequest, pull: PullDetails, review_id: int) -> ReviewRow:
    """Raises NotFound, also for a pending review of somebody else."""
    async with request.db.read() as db:
        row = await store.get(db, pull.id, review_id)
    if row is None or (row.state == ReviewState.PENDING and row.author_id != request.principal.id):
        raise NotFound
    return row


async def _comments_of(
    request: IssuesRequest, pull: PullDetails, comments: list[CommentOnLine]
) -> list[NewComment]:
    """The comments with the hunks of the diff on which they stand."""
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
    diff = await request.components.repos.diff(
        request.repository_id, pull.merge_base, pull.head_sha, "diff", request.principal_token
    )
    hunks: dict[Position, str] = {}
    if len(diff) <= LARGEST_DIFF:
        text = diff.decode("utf-8", "replace")
        hunks = await asyncio.to_thread(find_hunks, text, set(positions.values()))
    return [
        msgspec.structs.replace(comment, diff_hunk=hunks.get(position, ""))
        for comment, position in positions.items()
    ]


def _frozen(comment: CommentOnLine) -> NewComment:
    return NewComment(**msgspec.structs.asdict(comment))


@get(
    "/pulls/{index:int}/reviews",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoListPullReviews",
    tags=["repository"],
)
async def list_reviews(request: IssuesRequest, index: int) -> Response[list[PullReview]]:
    """Reviews, the oldest first; one that is pending only for its author."""
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
    """Review a pull request, or go on with the review that the caller has begun; on a locked one only writers may."""
    pull = await reviewable(request, index)
    comments, context = await _comments_of(request, pull, data.comments), await request.context()
    new_review = NewReview(
        state=data.state,
        body=data.body,
        commit_sha=data.commit_id.lower() or pull.head_sha,
        comments=comments,
        official=await _is_official(request, pull, data.state),
        team_ids=_own_team_ids(request),
    )
    async with request.db.transaction() as tx:
        row = await reviews.write_review(tx, context, pull, new_review)
    [review] = await present(request, pull, row)
    return review


async def reviewable(request: IssuesRequest, index: int) -> PullDetails:
    """A pull request that the caller may review. Raises Denied."""
    pull = await pull_of(request, index)
    if pull.locked and not await request.allowed(may_write):
        raise Denied("the conversation is locked")
    await request.require_unblocked(pull.author_id)
    return pull


async def _is_official(request: IssuesRequest, pull: PullDetails, state: ReviewState) -> bool:
    """Whether the decision of the caller counts for the protection of the base branch."""
    if state not in store.DECISIONS:
        return False
    rule = await request.components.repos.merge_rule(
        request.repository_id, pull.base_branch, "", request.principal_token, actor_id=request.principal.id
    )
    team_ids = _own_team_ids(request)
    return is_official(rule, request.principal.id, team_ids, writes=await request.allowed(may_write))


def _own_team_ids(request: IssuesRequest) -> list[int]:
    """The teams of the caller in the organization that owns the repository."""
    membership = request.principal.organizations.get(request.access.repository.owner.id)
    return sorted(membership.teams) if membership is not None else []


@get(
    "/pulls/{index:int}/reviews/{review_id:int}",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullReview",
    tags=["repository"],
)
async def get_review(request: IssuesRequest, index: int, review_id: int) -> PullReview:
    """A review."""
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
    """Submit the pending review of the caller."""
    pull = await reviewable(request, index)
    row, context = await review_of(request, pull, review_id), await request.context()
    state = ReviewState.COMMENT if data.state == ReviewState.PENDING else data.state
    submission = NewReview(
        state=state,
        body=data.body,
        commit_sha=row.commit_sha,
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
    """Delete a review: its author and site administrators may. Others dismiss it."""
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
    """An approval or a request for changes does not count any more: administrators of the repository say so."""
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
    """A review that was dismissed counts again."""
    pull = await _administered(request, index)
    context = await request.context()
    async with request.db.transaction() as tx:
        row = await reviews.restore_review(tx, context, pull, review_id)
    [review] = await present(request, pull, row)
    return review


async def _administered(request: IssuesRequest, index: int) -> PullDetails:
    """The pull request, for administrators of the repository. Raises Denied."""
    pull = await pull_of(request, index)
    if not await request.allowed(may_administer):
        raise Denied("only administrators of the repository may do that")
    return pull


routes = [
    list_reviews, create_review, get_review, submit_review, delete_review, dismiss_review, restore_review,
]  # fmt: skip
