"""Comments of reviews on lines: lists, replies, edits, and resolved conversations."""

import asyncio

import msgspec
from litestar import Response, delete, get, patch, post

from ingot_chassis.errors import Denied, NotFound
from ingot_contracts.issues.reviews import PullReviewComment
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_edit_issue
from ingot_issues.accounts import store as accounts
from ingot_issues.comments.rules.writing import clean_body
from ingot_issues.issues.api.presentation import pull_of
from ingot_issues.markdown.api.texts import Markdown
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviews import store
from ingot_issues.reviews.api.routes import LARGEST_DIFF, pull_row_of, review_of, reviewable
from ingot_issues.reviews.rules import comments as review_comments
from ingot_issues.reviews.rules.views import review_comment_view
from ingot_issues.reviews.store import PlacedCommentRow, ReviewCommentRow

ONE_COMMENT = "/pulls/comments/{comment_id:int}"
MOST_COMMENTS = 500
"""Maximum number of comments in one response. The page of a pull request shows all of them at once."""


class WriteReviewComment(msgspec.Struct, kw_only=True):
    body: Markdown = ""


async def present(
    request: IssuesRequest, pull: AnyPull, rows: list[ReviewCommentRow]
) -> list[PullReviewComment]:
    """Return comments of one pull request. Reads the diff if a comment is about another head."""
    async with request.db.read() as db:
        ids = [row.author_id for row in rows] + [row.resolver_id for row in rows if row.resolver_id]
        people = await accounts.get_people(db, ids)
    outdated: set[int] = set()
    if any(row.commit_sha != pull.head_sha for row in rows):
        diff = await request.components.repos.diff(
            request.repository_id, pull.merge_base, pull.head_sha, "diff", request.principal_token
        )
        if len(diff) <= LARGEST_DIFF:
            text = diff.decode("utf-8", "replace")
            outdated = await asyncio.to_thread(review_comments.find_outdated, text, rows)
    presenter, repository = request.presenter, request.access.repository
    return [
        review_comment_view(presenter, row, pull, repository, people, outdated=row.id in outdated)
        for row in rows
    ]


@get(
    "/pulls/{index:int}/reviews/{review_id:int}/comments",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullReviewComments",
    tags=["repository"],
)
async def list_review_comments(request: IssuesRequest, index: int, review_id: int) -> list[PullReviewComment]:
    """List the comments of a review on lines, with replies to them."""
    pull = await pull_of(request, index)
    review = await review_of(request, pull, review_id)
    async with request.db.read() as db:
        rows = await store.list_comments(db, review.id)
    return await present(request, pull, list(rows))


@get(
    "/pulls/{index:int}/comments",
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoListPullComments",
    tags=["repository"],
)
async def list_pull_comments(request: IssuesRequest, index: int) -> Response[list[PullReviewComment]]:
    """List the comments on lines of all reviews, oldest first: the latest 500 at most.

    `X-Total-Count` has the number of all comments.
    """
    shown, total = await latest_comments(request, await pull_row_of(request, index))
    return Response(shown, headers={"X-Total-Count": str(total)})


async def latest_comments(request: IssuesRequest, pull: AnyPull) -> tuple[list[PullReviewComment], int]:
    """Return the latest MOST_COMMENTS comments on lines, oldest first, and the total number."""
    async with request.db.read() as db:
        rows, total = await store.list_comments_of_pull(
            db, pull.id, viewer_id=request.principal.id, limit=MOST_COMMENTS
        )
    return await present(request, pull, list(rows)), total


async def _comment_of(request: IssuesRequest, comment_id: int) -> PlacedCommentRow:
    """Return the comment. Raises NotFound, also for a comment in another person's pending review."""
    async with request.db.read() as db:
        row = await store.get_comment(db, request.repository_id, comment_id)
    if row is None:
        raise NotFound
    if row.review_state == ReviewState.PENDING and row.review_author_id != request.principal.id:
        raise NotFound
    return row


@get(
    ONE_COMMENT,
    policy=in_repository("read", "read:repository", "pulls"),
    operation_id="repoGetPullReviewComment",
    tags=["repository"],
)
async def get_review_comment(request: IssuesRequest, comment_id: int) -> PullReviewComment:
    """Get a comment on a line. Its id is not an id of `/issues/comments`."""
    row = await _comment_of(request, comment_id)
    [comment] = await present(request, await pull_row_of(request, row.number), [row])
    return comment


@patch(
    ONE_COMMENT,
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoEditPullReviewComment",
    tags=["repository"],
)
async def edit_review_comment(
    request: IssuesRequest, comment_id: int, data: WriteReviewComment
) -> PullReviewComment:
    """Replace the text of a comment on a line.

    Allowed for the author of the comment, and for administrators of the repository.
    """
    row, body = await _own_comment(request, comment_id), clean_body(data.body)
    pull = await pull_of(request, row.number)
    await request.require_unblocked(pull.author_id)
    context = await request.context()
    async with request.db.transaction() as tx:
        changed = await review_comments.edit(tx, context, row, body)
    [comment] = await present(request, pull, [changed])
    return comment


@delete(
    ONE_COMMENT,
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoDeletePullReviewComment",
    tags=["repository"],
)
async def delete_review_comment(request: IssuesRequest, comment_id: int) -> None:
    """Delete a comment on a line, but not its replies.

    Allowed for the author of the comment, and for administrators of the repository.
    """
    row, context = await _own_comment(request, comment_id), await request.context()
    async with request.db.transaction() as tx:
        await review_comments.delete(tx, context, row)


async def _own_comment(request: IssuesRequest, comment_id: int) -> PlacedCommentRow:
    """Return the comment if the caller may change it. Raises NotFound or Denied."""
    row = await _comment_of(request, comment_id)
    await request.require_own_comment(row.author_id)
    return row


@post(
    "/pulls/{index:int}/comments/{comment_id:int}/replies",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoCreatePullReviewCommentReply",
    tags=["repository"],
    status_code=201,
)
async def reply(
    request: IssuesRequest, index: int, comment_id: int, data: WriteReviewComment
) -> PullReviewComment:
    """Reply to a comment on a line. On a locked pull request only writers may reply."""
    pull = await reviewable(request, index)
    to, body = await _comment_of(request, comment_id), clean_body(data.body)
    if to.number != pull.number:
        raise NotFound
    context = await request.context()
    async with request.db.transaction() as tx:
        row = await review_comments.reply(tx, context, pull, to, body)
    [comment] = await present(request, pull, [row])
    return comment


@post(
    "/pulls/comments/{comment_id:int}/resolve",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoResolvePullReviewComment",
    tags=["repository"],
    status_code=204,
)
async def resolve(request: IssuesRequest, comment_id: int) -> None:
    """Mark the conversation of a comment as resolved.

    Allowed for the author of the pull request, and for users with write access.
    """
    await _resolve(request, comment_id, request.principal.id)


@post(
    "/pulls/comments/{comment_id:int}/unresolve",
    policy=in_repository("signed-in", "write:repository", "pulls"),
    operation_id="repoUnresolvePullReviewComment",
    tags=["repository"],
    status_code=204,
)
async def unresolve(request: IssuesRequest, comment_id: int) -> None:
    """Reopen the conversation of a comment.

    Allowed for the author of the pull request, and for users with write access.
    """
    await _resolve(request, comment_id, None)


async def _resolve(request: IssuesRequest, comment_id: int, resolver_id: int | None) -> None:
    row = await _comment_of(request, comment_id)
    pull = await pull_of(request, row.number)
    if not await request.allowed(lambda access: may_edit_issue(access, request.principal, pull.author_id)):
        raise Denied("only the author of the pull request and writers of the repository may do that")
    context = await request.context()
    async with request.db.transaction() as tx:
        await context.lock(tx)
        await store.resolve(tx, row, resolver_id)


routes = [
    list_review_comments,
    list_pull_comments,
    get_review_comment,
    edit_review_comment,
    delete_review_comment,
    reply,
    resolve,
    unresolve,
]
