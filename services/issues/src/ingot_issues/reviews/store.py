"""SQL for reviews of pull requests, for their comments on lines, and for requests of reviews."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_issues.records.store.tables import issue
from ingot_issues.reviewers.store.requested import IS_SUBMITTED
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviewers.store.tables import review, review_comment

DECISIONS = (ReviewState.APPROVED, ReviewState.REQUEST_CHANGES)
"""The decisions of a review."""


class ReviewRow(TypedRow):
    """A review. ``updated_at`` is the time of its submission or dismissal, unless it is pending."""

    id: int
    issue_id: int
    author_id: int
    team_id: int | None
    state: ReviewState
    body: str
    commit_sha: str
    base_branch: str
    merge_base: str
    official: bool
    dismissed: bool
    submitted_at: datetime
    updated_at: datetime
    comments: int
    original_author: str = ""
    original_author_id: int = 0


class ReviewCommentRow(TypedRow):
    """A comment on a line of the old file if ``old_position`` is not 0, else of the new file."""

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
    original_author: str = ""
    original_author_id: int = 0


class ListedReviewCommentRow(ReviewCommentRow, TotalRow):
    """A comment in a list, with the total number."""


class DecisionRow(TypedRow):
    """An approval or a request for changes, and its target."""

    id: int
    author_id: int
    state: ReviewState
    commit_sha: str
    base_branch: str
    merge_base: str
    dismissed: bool


class ReviewerRow(TypedRow):
    """A requested reviewer: a person, or a team."""

    author_id: int
    team_id: int | None


class ListedReviewRow(ReviewRow, TotalRow):
    """A review in a page, with the total number."""


_COMMENTS = (
    select(func.count())
    .select_from(review_comment)
    .where(review_comment.c.review_id == review.c.id)
    .scalar_subquery()
)
_REVIEWS = select(review, _COMMENTS.label("comments"))


def target_values(target: tuple[str, str, str]) -> dict[str, str]:
    """Return the columns of the commit, the base branch and the merge base of a review."""
    return dict(zip(("commit_sha", "base_branch", "merge_base"), target, strict=True))


async def add(
    db: Executor,
    issue_id: int,
    author_id: int,
    state: ReviewState,
    *,
    target: tuple[str, str, str],
    official: bool = False,
    team_id: int | None = None,
) -> int:
    """Insert a review without text, and return its id. ``author_id`` is 0 in a request to a team.

    ``target`` has the commit, the base branch and the merge base.
    """
    moment = now()
    values = {
        "issue_id": issue_id,
        "author_id": author_id,
        "team_id": team_id,
        "state": state,
        **target_values(target),
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
    """Return the id of the pending review of a person, or None."""
    statement = select(review.c.id).where(
        review.c.issue_id == issue_id,
        review.c.author_id == author_id,
        review.c.state == ReviewState.PENDING,
    )
    return (await db.execute(statement.limit(1))).scalar()


_FOR_VIEWER = (
    review.c.issue_id == bindparam("issue_id", type_=BigId),
    or_(IS_SUBMITTED, review.c.author_id == bindparam("viewer_id", type_=BigId)),
)
"""Pending reviews are shown to their author only."""
_ON_PULL = PreparedPage(_REVIEWS.where(*_FOR_VIEWER), ListedReviewRow, review.c.id)


async def list_page(
    db: Executor, issue_id: int, page: Slice, *, viewer_id: int
) -> tuple[Sequence[ReviewRow], int]:
    """Return a page of the reviews of a pull request, the oldest first, and their number."""
    return await _ON_PULL.read(db, page, issue_id=issue_id, viewer_id=viewer_id)


async def change(db: Executor, review_id: int, values: Mapping[str, object]) -> None:
    """Update a review, and its time of the last update."""
    statement = update(review).where(review.c.id == review_id)
    await db.execute(statement.values(updated_at=now(), **values))


async def dismiss_others(db: Executor, issue_id: int, author_id: int, review_id: int) -> None:
    """Dismiss the other decisions of a person."""
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
    """Return the decisions on a pull request, the oldest first, including dismissed decisions.

    Imported reviews are not included, because their source could name any person as the author.
    """
    columns = (review.c[name] for name in DecisionRow.__annotations__)
    is_own = (review.c.original_author == "", review.c.original_author_id == 0)
    statement = select(*columns).where(review.c.issue_id == issue_id, review.c.state.in_(DECISIONS), *is_own)
    return await fetch_all(db, statement.order_by(review.c.id), DecisionRow)


async def dismiss_stale_approvals(
    db: Executor, issue_id: int, present_target: tuple[str, str, str]
) -> list[int]:
    """Dismiss approvals of another target. Return the ids of newly dismissed approvals."""
    is_stale = or_(*(review.c[name] != value for name, value in target_values(present_target).items()))
    statement = (
        update(review)
        .where(
            review.c.issue_id == issue_id,
            review.c.state == ReviewState.APPROVED,
            review.c.dismissed.is_(False),
            is_stale,
        )
        .values(dismissed=True, updated_at=now())
    )
    return sorted((await db.execute(statement.returning(review.c.id))).scalars())


async def list_open_requests(db: Executor, issue_id: int) -> Sequence[ReviewerRow]:
    """Return the requested people and teams of a pull request."""
    statement = select(review.c.author_id, review.c.team_id).where(
        review.c.issue_id == issue_id, review.c.state == ReviewState.REQUEST_REVIEW
    )
    return await fetch_all(db, statement.order_by(review.c.id), ReviewerRow)


async def remove(db: Executor, review_id: int) -> None:
    """Delete a review with its comments."""
    await db.execute(delete(review).where(review.c.id == review_id))


def _is_request(
    issue_id: int, account_ids: Collection[int], team_ids: Collection[int]
) -> ColumnElement[bool]:
    """Return the condition for requests to one of these people, or to one of these teams."""
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
    """Delete requests to these people and teams. Return the ids of people and of teams that had a request."""
    statement = delete(review).where(_is_request(issue_id, account_ids, team_ids))
    rows = await fetch_all(db, statement.returning(review.c.author_id, review.c.team_id), ReviewerRow)
    return (
        [row.author_id for row in rows if row.team_id is None],
        [row.team_id for row in rows if row.team_id is not None],
    )


async def list_requests(
    db: Executor, issue_id: int, account_ids: Collection[int], team_ids: Collection[int]
) -> Sequence[ReviewRow]:
    """Return the requests to these people and teams."""
    statement = _REVIEWS.where(_is_request(issue_id, account_ids, team_ids))
    return await fetch_all(db, statement.order_by(review.c.id), ReviewRow)


async def add_comments(db: Executor, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert comments on lines."""
    moment = now()
    values = [{**row, "created_at": moment, "updated_at": moment} for row in rows]
    await db.execute(review_comment.insert(), values)


async def list_comments(db: Executor, review_id: int) -> Sequence[ReviewCommentRow]:
    """Return the comments of a review, in the order of creation."""
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
    """The parameter of a query for the first rows of a list."""

    limit: int
    offset: int = 0


async def list_comments_of_pull(
    db: Executor, issue_id: int, *, viewer_id: int, limit: int
) -> tuple[Sequence[ReviewCommentRow], int]:
    """Return the latest ``limit`` comments that the viewer may see, oldest first, and the total number."""
    rows, total = await _COMMENTS_ON_PULL.read(db, _FirstRows(limit), issue_id=issue_id, viewer_id=viewer_id)
    return rows[::-1], total


class PlacedCommentRow(ReviewCommentRow):
    """A comment on a line, with its pull request and review."""

    issue_id: int
    number: int
    review_state: ReviewState
    review_author_id: int


async def get_comment(db: Executor, repository_id: int, comment_id: int) -> PlacedCommentRow | None:
    """Return a comment on a line in the repository, or None."""
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
    """Insert a reply to a comment: on the same line, in the same review."""
    moment = now()
    same = ("review_id", "path", "old_position", "new_position", "commit_sha", "diff_hunk", "resolver_id")
    values = {name: getattr(to, name) for name in same}
    values |= {"author_id": author_id, "body": body, "created_at": moment, "updated_at": moment}
    statement = review_comment.insert().values(values).returning(review_comment)
    [row] = await fetch_all(db, statement, ReviewCommentRow)
    return row


async def change_comment(db: Executor, comment_id: int, body: str) -> ReviewCommentRow | None:
    """Replace the text of a comment on a line. Return None if it was deleted."""
    statement = update(review_comment).where(review_comment.c.id == comment_id)
    values = {"body": body, "updated_at": now()}
    return await fetch_first(db, statement.values(values).returning(review_comment), ReviewCommentRow)


async def remove_comment(db: Executor, comment_id: int) -> bool:
    """Delete a comment on a line. Return False if it was already deleted."""
    return (await db.execute(delete(review_comment).where(review_comment.c.id == comment_id))).rowcount > 0


async def resolve(db: Executor, comment: ReviewCommentRow, resolver_id: int | None) -> bool:
    """Record the user who resolved the comments of a review on one line. None reopens these comments.

    Return False if nothing changed.
    """
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
