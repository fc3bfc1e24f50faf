"""SQL for reviews of pull requests, for their comments on lines, and for requests of reviews."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    String,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    or_,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_issues.store.states import ReviewState
from ingot_issues.store.tables import issue, review, review_comment

DECISIONS = (ReviewState.APPROVED, ReviewState.REQUEST_CHANGES)
"""What a review may decide."""


class ReviewRow(TypedRow):
    """A review. ``updated_at`` of one that is not pending is when it was submitted, or dismissed."""

    id: int
    issue_id: int
    author_id: int
    team_id: int | None
    state: ReviewState
    body: str
    commit_sha: str
    official: bool
    dismissed: bool
    submitted_at: datetime
    updated_at: datetime
    comments: int


class ReviewCommentRow(TypedRow):
    """A comment on a line: of the old file if ``old_position`` is not 0, else of the new one."""

    id: int
    review_id: int
    author_id: int
    path: str
    old_position: int
    new_position: int
    body: str
    commit_sha: str
    diff_hunk: str
    resolver_id: int | None
    created_at: datetime
    updated_at: datetime


class ListedReviewCommentRow(ReviewCommentRow, TotalRow):
    """A comment of those that come together."""


class DecisionRow(TypedRow):
    """An approval or a request for changes, as far as it counts for the protection of the base branch."""

    id: int
    author_id: int
    state: ReviewState
    commit_sha: str
    official: bool
    dismissed: bool


class ReviewerRow(TypedRow):
    """Who was to review: a person, or a team."""

    author_id: int
    team_id: int | None


class ListedReviewRow(ReviewRow, TotalRow):
    """A review of a page of reviews."""


_IS_SUBMITTED = review.c.state != literal_column(f"'{ReviewState.PENDING}'", String)
_COMMENTS = (
    select(func.count())
    .select_from(review_comment)
    .where(review_comment.c.review_id == review.c.id)
    .scalar_subquery()
)
_REVIEWS = select(review, _COMMENTS.label("comments"))
_LINE_COMMENTS = (
    select(func.count())
    .select_from(review_comment.join(review, review.c.id == review_comment.c.review_id))
    .where(review.c.issue_id == issue.c.id, _IS_SUBMITTED)
    .correlate(issue)
    .scalar_subquery()
)
LINE_COMMENTS = case((issue.c.is_pull, _LINE_COMMENTS), else_=literal_column("0"))
"""The part of an issue's row that says how many comments on lines its submitted reviews have."""


async def add(
    db: Executor,
    issue_id: int,
    author_id: int,
    state: ReviewState,
    *,
    commit_sha: str,
    official: bool = False,
    team_id: int | None = None,
) -> int:
    """Insert a review without text; its id. ``author_id`` 0: a request to the team."""
    moment = now()
    values = {
        "issue_id": issue_id,
        "author_id": author_id,
        "team_id": team_id,
        "state": state,
        "commit_sha": commit_sha,
        "official": official,
        "submitted_at": moment,
        "updated_at": moment,
    }
    statement = review.insert().values(values).returning(review.c.id)
    return int((await db.execute(statement)).scalar_one())


async def get(db: Executor, issue_id: int, review_id: int) -> ReviewRow | None:
    statement = _REVIEWS.where(review.c.issue_id == issue_id, review.c.id == review_id)
    return await fetch_first(db, statement, ReviewRow)


async def get_pending_id(db: Executor, issue_id: int, author_id: int) -> int | None:
    """The id of the review that somebody has begun."""
    statement = select(review.c.id).where(
        review.c.issue_id == issue_id,
        review.c.author_id == author_id,
        review.c.state == ReviewState.PENDING,
    )
    return (await db.execute(statement.limit(1))).scalar()


_FOR_VIEWER = (
    review.c.issue_id == bindparam("issue_id", type_=BigId),
    or_(_IS_SUBMITTED, review.c.author_id == bindparam("viewer_id", type_=BigId)),
)
"""A review that is pending is shown to its author only."""
_ON_PULL = PreparedPage(_REVIEWS.where(*_FOR_VIEWER), ListedReviewRow, review.c.id)


async def list_page(
    db: Executor, issue_id: int, page: Slice, *, viewer_id: int
) -> tuple[Sequence[ReviewRow], int]:
    """A page of the reviews of a pull request, the oldest first, and how many there are."""
    return await _ON_PULL.read(db, page, issue_id=issue_id, viewer_id=viewer_id)


async def change(db: Executor, review_id: int, values: Mapping[str, object]) -> None:
    """Update a review, and when it was last updated."""
    statement = update(review).where(review.c.id == review_id)
    await db.execute(statement.values(updated_at=now(), **values))


async def dismiss_others(db: Executor, issue_id: int, author_id: int, review_id: int) -> None:
    """Dismiss the approvals and refusals that somebody gave beside one."""
    await db.execute(
        update(review)
        .where(
            review.c.issue_id == issue_id,
            review.c.author_id == author_id,
            review.c.id != review_id,
            review.c.state.in_(DECISIONS),
        )
        .values(dismissed=True, updated_at=now())
    )


async def list_decisions(db: Executor, issue_id: int) -> Sequence[DecisionRow]:
    """The approvals and requests for changes of a pull request, the oldest first; dismissed ones as well."""
    columns = (review.c[name] for name in DecisionRow.__annotations__)
    statement = select(*columns).where(review.c.issue_id == issue_id, review.c.state.in_(DECISIONS))
    return await fetch_all(db, statement.order_by(review.c.id), DecisionRow)


async def dismiss_approvals(db: Executor, issue_id: int) -> list[int]:
    """Dismiss the approvals of a pull request; the ids of those that counted."""
    statement = (
        update(review)
        .where(
            review.c.issue_id == issue_id,
            review.c.state == ReviewState.APPROVED,
            review.c.dismissed.is_(False),
        )
        .values(dismissed=True, updated_at=now())
    )
    return sorted((await db.execute(statement.returning(review.c.id))).scalars())


async def count_official_requests(db: Executor, issue_id: int) -> int:
    """How many are to review whose decision will count."""
    statement = (
        select(func.count())
        .select_from(review)
        .where(
            review.c.issue_id == issue_id,
            review.c.state == ReviewState.REQUEST_REVIEW,
            review.c.official,
        )
    )
    return int((await db.execute(statement)).scalar_one())


async def remove(db: Executor, review_id: int) -> None:
    """Delete a review with its comments."""
    await db.execute(delete(review).where(review.c.id == review_id))


def _is_request(
    issue_id: int, account_ids: Collection[int], team_ids: Collection[int]
) -> ColumnElement[bool]:
    """A request to one of these people, or one of these teams."""
    return and_(
        review.c.issue_id == issue_id,
        review.c.state == ReviewState.REQUEST_REVIEW,
        or_(
            review.c.team_id.in_(team_ids),
            and_(review.c.team_id.is_(None), review.c.author_id.in_(account_ids)),
        ),
    )


async def remove_requests(
    db: Executor, issue_id: int, account_ids: Collection[int], team_ids: Collection[int] = ()
) -> tuple[list[int], list[int]]:
    """Delete requests; the people and the teams who were to review."""
    statement = delete(review).where(_is_request(issue_id, account_ids, team_ids))
    rows = await fetch_all(db, statement.returning(review.c.author_id, review.c.team_id), ReviewerRow)
    return (
        [row.author_id for row in rows if row.team_id is None],
        [row.team_id for row in rows if row.team_id is not None],
    )


async def list_requests(
    db: Executor, issue_id: int, account_ids: Collection[int], team_ids: Collection[int]
) -> Sequence[ReviewRow]:
    """The requests to these people and teams."""
    statement = _REVIEWS.where(_is_request(issue_id, account_ids, team_ids))
    return await fetch_all(db, statement.order_by(review.c.id), ReviewRow)


async def add_comments(db: Executor, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert comments on lines."""
    moment = now()
    values = [{**row, "created_at": moment, "updated_at": moment} for row in rows]
    await db.execute(review_comment.insert(), values)


async def list_comments(db: Executor, review_id: int) -> Sequence[ReviewCommentRow]:
    """The comments of a review, in the order in which they were written."""
    statement = select(review_comment).where(review_comment.c.review_id == review_id)
    return await fetch_all(db, statement.order_by(review_comment.c.id), ReviewCommentRow)


_COMMENTS_ON_PULL = PreparedPage(
    select(review_comment)
    .select_from(review_comment.join(review, review.c.id == review_comment.c.review_id))
    .where(*_FOR_VIEWER),
    ListedReviewCommentRow,
    review_comment.c.id.desc(),
)


class _FirstRows(NamedTuple):
    """The part of a list that has its first rows."""

    limit: int
    offset: int = 0


async def list_comments_of_pull(
    db: Executor, issue_id: int, *, viewer_id: int, limit: int
) -> tuple[Sequence[ReviewCommentRow], int]:
    """The latest ``limit`` comments of all reviews that the viewer sees, the oldest first, and how many there are."""
    rows, total = await _COMMENTS_ON_PULL.read(db, _FirstRows(limit), issue_id=issue_id, viewer_id=viewer_id)
    return rows[::-1], total


class PlacedCommentRow(ReviewCommentRow):
    """A comment on a line, with the pull request and the review that it belongs to."""

    issue_id: int
    number: int
    review_state: ReviewState
    review_author_id: int


async def get_comment(db: Executor, repository_id: int, comment_id: int) -> PlacedCommentRow | None:
    """A comment on a line of a pull request of the repository."""
    statement = (
        select(
            review_comment,
            issue.c.id.label("issue_id"),
            issue.c.number,
            review.c.state.label("review_state"),
            review.c.author_id.label("review_author_id"),
        )
        .join(review, review.c.id == review_comment.c.review_id)
        .join(issue, issue.c.id == review.c.issue_id)
        .where(issue.c.repository_id == repository_id, review_comment.c.id == comment_id)
    )
    return await fetch_first(db, statement, PlacedCommentRow)


async def reply(db: Executor, to: ReviewCommentRow, author_id: int, body: str) -> ReviewCommentRow:
    """Insert a comment on the same line, in the same review."""
    moment = now()
    same = ("review_id", "path", "old_position", "new_position", "commit_sha", "diff_hunk", "resolver_id")
    values = {name: getattr(to, name) for name in same}
    values |= {"author_id": author_id, "body": body, "created_at": moment, "updated_at": moment}
    statement = review_comment.insert().values(values).returning(review_comment)
    [row] = await fetch_all(db, statement, ReviewCommentRow)
    return row


async def change_comment(db: Executor, comment_id: int, body: str) -> ReviewCommentRow | None:
    """Replace the text of a comment on a line; None when the comment is deleted."""
    statement = update(review_comment).where(review_comment.c.id == comment_id)
    values = {"body": body, "updated_at": now()}
    return await fetch_first(db, statement.values(values).returning(review_comment), ReviewCommentRow)


async def remove_comment(db: Executor, comment_id: int) -> bool:
    """Delete a comment on a line; False when it is deleted already."""
    return (await db.execute(delete(review_comment).where(review_comment.c.id == comment_id))).rowcount > 0


async def resolve(db: Executor, comment: ReviewCommentRow, resolver_id: int | None) -> bool:
    """Say of all comments of a review on one line who has resolved them; False when that is so already."""
    statement = update(review_comment).where(
        review_comment.c.review_id == comment.review_id,
        review_comment.c.path == comment.path,
        review_comment.c.old_position == comment.old_position,
        review_comment.c.new_position == comment.new_position,
        review_comment.c.resolver_id.is_not(None)
        if resolver_id is None
        else review_comment.c.resolver_id.is_(None),
    )
    return (await db.execute(statement.values(resolver_id=resolver_id))).rowcount > 0
