"""Reviews and their comments, in the form of responses and events."""

from collections.abc import Mapping
from typing import cast

from ingot_contracts.identity.teams import Team
from ingot_contracts.issues.issues import Comment
from ingot_contracts.issues.reviews import PullReview, PullReviewComment, ReviewStateName
from ingot_contracts.repos.repositories import Repository
from ingot_issues.accounts.store import People
from ingot_issues.records.rules.presenter import Presenter, whole_seconds
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.reviewers.rules import requested_team
from ingot_issues.reviews.rules.targets import is_stale
from ingot_issues.reviews.store import ReviewCommentRow, ReviewRow

NO_TEAMS: Mapping[int, Team] = {}


def review_view(
    presenter: Presenter,
    review: ReviewRow,
    pull: AnyPull,
    repository: Repository,
    people: People,
    teams: Mapping[int, Team] = NO_TEAMS,
    *,
    official: bool | None = None,
) -> PullReview:
    """Return a review. ``people`` has its author, or ``teams`` the requested team.

    ``official``: True if the review counts now; None takes the recorded value.
    """
    team = teams.get(review.team_id or 0)
    page = presenter.page(pull, repository)
    return PullReview(
        id=review.id,
        user=presenter.user(people.get(review.author_id)) if review.team_id is None else None,
        team=requested_team(team) if team is not None else None,
        state=cast("ReviewStateName", review.state),
        body=review.body,
        commit_id=review.commit_sha,
        stale=is_stale(review, pull),
        official=review.official if official is None else official,
        dismissed=review.dismissed,
        comments_count=review.comments,
        original_author=review.original_author,
        original_author_id=review.original_author_id,
        submitted_at=whole_seconds(review.submitted_at),
        updated_at=whole_seconds(review.updated_at),
        html_url=f"{page}#pullrequestreview-{review.id}",
        pull_request_url=page,
    )


def review_comment_view(
    presenter: Presenter,
    comment: ReviewCommentRow,
    pull: AnyPull,
    repository: Repository,
    people: People,
    *,
    outdated: bool = False,
) -> PullReviewComment:
    """Return a comment on a line. ``people`` has its author, and the user who resolved it."""
    page = presenter.page(pull, repository)
    return PullReviewComment(
        id=comment.id,
        pull_request_review_id=comment.review_id,
        user=presenter.user(people.get(comment.author_id)),
        resolver=presenter.user(people.get(comment.resolver_id)) if comment.resolver_id else None,
        outdated=outdated,
        original_author=comment.original_author,
        original_author_id=comment.original_author_id,
        body=comment.body,
        path=comment.path,
        commit_id=comment.commit_sha,
        original_commit_id=comment.commit_sha,
        position=comment.new_position,
        original_position=comment.old_position,
        diff_hunk=comment.diff_hunk,
        created_at=comment.created_at.replace(microsecond=0),
        updated_at=comment.updated_at.replace(microsecond=0),
        html_url=f"{page}#pullrequestreviewcomment-{comment.id}",
        pull_request_url=page,
    )


def line_comment_view(
    presenter: Presenter, comment: ReviewCommentRow, pull: AnyPull, repository: Repository, people: People
) -> Comment:
    """Return a comment on a line in the form of events.

    Its id is in the range of ids for comments on lines.
    """
    page = presenter.page(pull, repository)
    return Comment(
        id=comment.id,
        html_url=f"{page}#pullrequestreviewcomment-{comment.id}",
        pull_request_url=page,
        user=presenter.user(people.get(comment.author_id)),
        body=comment.body,
        created_at=comment.created_at.replace(microsecond=0),
        updated_at=comment.updated_at.replace(microsecond=0),
    )
