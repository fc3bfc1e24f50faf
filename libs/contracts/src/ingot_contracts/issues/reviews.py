"""Reviews in the form of the API."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.pulls import RequestedTeam
from ingot_contracts.limits import EventText

LONGEST_HUNK = 4_000
"""Maximum characters of a hunk. The end of a longer hunk is cut off."""


ReviewStateName = Literal["APPROVED", "PENDING", "COMMENT", "REQUEST_CHANGES", "REQUEST_REVIEW"]


class PullReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review or, in the state REQUEST_REVIEW, a request for a review from a user or a team.

    ``official``: the review counts by the current rule of the base branch. ``stale``: the pull request has
    changed since the review.
    """

    id: int
    user: User | None
    team: RequestedTeam | None = None
    state: ReviewStateName
    body: EventText = ""
    commit_id: str = ""
    stale: bool = False
    official: bool = False
    dismissed: bool = False
    comments_count: int = 0
    original_author: str = ""
    original_author_id: int = 0
    submitted_at: datetime | None = None
    updated_at: datetime | None = None
    html_url: str = ""
    pull_request_url: str = ""


class PullReviewComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line: ``position`` in the new file, or ``original_position`` in the old file.

    The other field is 0. ``resolver`` has marked the conversation as resolved. ``outdated``: the diff no
    longer shows the line.
    """

    id: int
    pull_request_review_id: int
    user: User
    resolver: User | None = None
    body: str
    path: str
    commit_id: str
    original_commit_id: str
    position: int
    original_position: int
    diff_hunk: str = ""
    created_at: datetime
    updated_at: datetime
    html_url: str = ""
    pull_request_url: str = ""
    outdated: bool = False
    original_author: str = ""
    original_author_id: int = 0


class PullReviews(msgspec.Struct, frozen=True, kw_only=True):
    """Reviews of a pull request: GET /internal/repos/{owner}/{repo}/pulls/{index}/reviews.

    ``reviews`` are in order. If there are very many, the first and the latest are listed. ``comments`` are
    the latest comments on lines, the oldest first. ``comment_total`` counts all comments on lines.
    """

    reviews: list[PullReview] = []
    comments: list[PullReviewComment] = []
    comment_total: int = 0
