"""Owned by issues: how issues and pull requests look to the world, and what happened to them."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from ingot_contracts.attachments import Attachment
from ingot_contracts.identity import User
from ingot_contracts.limits import Omitted
from ingot_contracts.repos import Repository

MOST_TEXTS = 120
"""Texts that are rendered by one request."""
LONGEST_HUNK = 4_000
"""Characters of the changes around a commented line; of longer ones the end is cut."""


class RenderTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Markdown of people. Relative links are below the path ``context``, as ``owner/name``, pictures below ``images``."""

    texts: Annotated[list[str], msgspec.Meta(max_length=MOST_TEXTS)]
    context: str = ""
    images: str = ""


class RenderedTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Sanitized HTML, in the order of the texts. ``plain``: the places of those that lacked time or room, and may be better later."""

    html: list[str]
    plain: list[int] = []


State = Literal["open", "closed"]
ReactionContent = Literal["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"]


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """``color``: six hex digits. Of ``exclusive`` labels whose names are equal up to the last slash an issue has one at most."""

    id: int
    name: str
    color: str
    url: str = ""
    description: str = ""
    exclusive: bool = False
    is_archived: bool = False


class Milestone(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    title: str
    description: str = ""
    state: State = "open"
    open_issues: int = 0
    closed_issues: int = 0
    closed_at: datetime | None = None
    due_on: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class RepositoryMeta(msgspec.Struct, frozen=True, kw_only=True):
    """The repository of an issue. ``owner`` is a login."""

    id: int
    name: str
    owner: str
    full_name: str


class PullRequestMeta(msgspec.Struct, frozen=True, kw_only=True):
    merged: bool = False
    merged_at: datetime | None = None
    draft: bool = False
    html_url: str = ""


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """``number`` counts issues and pull requests of the repository together. ``ref`` is a branch or tag that it is about.

    ``content_version`` rises with each edit of the body. Nothing is imported, and there are neither estimates nor projects.
    """

    id: int
    url: str
    number: int
    user: User
    title: str
    body: str = ""
    labels: list[Label] = []
    milestone: Milestone | None = None
    assignee: User | None = None
    assignees: list[User] = []
    state: State = "open"
    comments: int = 0
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    pull_request: PullRequestMeta | None = None
    html_url: str = ""
    due_date: datetime | None = None
    is_locked: bool = False
    repository: RepositoryMeta | None = None
    pin_order: int = 0
    assets: list[Attachment] = []
    ref: str = ""
    content_version: int = 0
    original_author: str = ""
    original_author_id: int = 0
    time_estimate: int = 0
    projects: list[int] = []


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two URLs of what it belongs to is filled, the other empty. None is imported: it has no original author."""

    id: int
    html_url: str
    pull_request_url: str = ""
    issue_url: str = ""
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    assets: list[Attachment] = []
    original_author: str = ""
    original_author_id: int = 0


class TrackedTime(msgspec.Struct, frozen=True, kw_only=True):
    """``time`` in seconds. Events and timelines have neither ``user_name`` nor ``issue``."""

    id: int
    created: datetime
    time: int
    user_id: int
    issue_id: int
    user_name: str = ""
    issue: Issue | None = None


class PullRequestBranch(msgspec.Struct, frozen=True, kw_only=True):
    """``repo`` is None when the fork is gone; ``sha`` is then the last known one."""

    label: str
    ref: str
    sha: str
    repo_id: int
    repo: Repository | None = None


class RequestedTeam(msgspec.Struct, frozen=True, kw_only=True):
    """A team of the organization that owns the repository, as far as a pull request shows it."""

    id: int
    name: str
    description: str = ""
    permission: str = ""


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """``additions``, ``deletions`` (lines) and ``changed_files`` are None while they are not counted.

    ``allow_maintainer_edit`` is never true: who may write to the base may not write to the head for that. A ``draft`` says
    in its title that it is work in progress. ``review_comments`` are those on lines, of all reviews that were submitted.
    """

    id: int
    url: str
    number: int
    user: User
    title: str
    body: str = ""
    labels: list[Label] = []
    milestone: Milestone | None = None
    assignee: User | None = None
    assignees: list[User] = []
    state: State = "open"
    comments: int = 0
    html_url: str = ""
    diff_url: str = ""
    patch_url: str = ""
    mergeable: bool = False
    merged: bool = False
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None
    merged_by: User | None = None
    base: PullRequestBranch
    head: PullRequestBranch
    merge_base: str = ""
    allow_maintainer_edit: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    closed_at: datetime | None = None
    due_date: datetime | None = None
    is_locked: bool = False
    requested_reviewers: list[User] = []
    requested_reviewers_teams: list[RequestedTeam] = []
    pin_order: int = 0
    additions: int | None = None
    deletions: int | None = None
    changed_files: int | None = None
    content_version: int = 0
    draft: bool = False
    review_comments: int = 0


ReviewStateName = Literal["APPROVED", "PENDING", "COMMENT", "REQUEST_CHANGES", "REQUEST_REVIEW"]


class PullReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review or, in the state REQUEST_REVIEW, a person who is to write one, or a team without ``user``.

    ``official``: its author may write to the repository. ``stale``: the head has moved since.
    """

    id: int
    user: User | None
    team: RequestedTeam | None = None
    state: ReviewStateName
    body: str = ""
    commit_id: str = ""
    stale: bool = False
    official: bool = False
    dismissed: bool = False
    comments_count: int = 0
    submitted_at: datetime | None = None
    updated_at: datetime | None = None
    html_url: str = ""
    pull_request_url: str = ""


class PullReviewComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line: ``position`` in the new file, or ``original_position`` in the old one; the other is 0.

    ``resolver`` has marked its conversation as resolved. ``outdated``: the diff does not show the line any more.
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


class ChangedText(msgspec.Struct, frozen=True):
    """The former text; its key on the wire is ``from``."""

    from_: str = msgspec.field(name="from")


class Changes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``ref`` is the base branch of a pull request."""

    title: ChangedText | None = None
    body: ChangedText | None = None
    ref: ChangedText | None = None


IssueAction = Literal[
    "opened", "edited", "closed", "reopened", "assigned", "unassigned",
    "label_updated", "label_cleared", "milestoned", "demilestoned", "locked", "unlocked",
]  # fmt: skip
CommentAction = Literal["created", "edited", "deleted"]
PullRequestAction = IssueAction | Literal["synchronized"]


class IssueChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.issue.changed.v1"):
    """Something happened to an issue; ``action`` says what, in the words that webhooks use."""

    action: IssueAction
    issue: Issue
    repository: Repository
    sender: User
    changes: Changes | None = None
    omitted: Omitted = Omitted()


class CommentChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.comment.changed.v1"):
    """``on_line``: it is a comment of a review on a line, whose id other comments may have as well."""

    action: CommentAction
    issue: Issue
    comment: Comment
    repository: Repository
    sender: User
    changes: Changes | None = None
    is_pull: bool = False
    on_line: bool = False
    omitted: Omitted = Omitted()


class PullRequestChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.pull.changed.v1"):
    """A merge is ``closed`` with ``pull_request.merged``."""

    action: PullRequestAction
    pull_request: PullRequest
    repository: Repository
    sender: User
    changes: Changes | None = None
    omitted: Omitted = Omitted()


ReviewAction = Literal["submitted", "dismissed", "undismissed"]


class ReviewChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.review.changed.v1"):
    """A review that is not pending any more."""

    action: ReviewAction
    review: PullReview
    pull_request: PullRequest
    repository: Repository
    sender: User
    omitted: Omitted = Omitted()


class ReviewRequested(msgspec.Struct, frozen=True, kw_only=True, tag="issues.review.requested.v1"):
    """Somebody is to review a pull request or, with ``removed``, is not to do so any more.

    A request to a ``team`` has the ghost as its ``reviewer``.
    """

    reviewer: User
    team: RequestedTeam | None = None
    pull_request: PullRequest
    repository: Repository
    sender: User
    removed: bool = False
    omitted: Omitted = Omitted()


class OpenIssuesCounted(msgspec.Struct, frozen=True, kw_only=True, tag="issues.open.counted.v1"):
    """How many issues of a repository are open now, for the repository's own counter."""

    repository_id: int
    open_issues: int
    open_pulls: int = 0


class LabelChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.label.changed.v1"):
    """A label of a repository; deleted, it is also gone from issues."""

    action: Literal["created", "edited", "deleted"]
    label: Label
    repository: Repository
    sender: User


class MilestoneChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.milestone.changed.v1"):
    """``edited`` is also closing and reopening."""

    action: Literal["created", "edited", "deleted"]
    milestone: Milestone
    repository: Repository
    sender: User
    omitted: Omitted = Omitted()


class TimeChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.time.changed.v1"):
    """Time that was tracked on an issue. Nothing edits any yet."""

    action: Literal["created", "edited", "deleted"]
    time: TrackedTime
    repository: Repository
    sender: User


class IssuesForgotten(msgspec.Struct, frozen=True, kw_only=True, tag="issues.repository.forgotten.v1"):
    """Nothing is left here of a repository that was deleted."""

    repository_id: int


Event = (
    IssueChanged
    | CommentChanged
    | PullRequestChanged
    | ReviewChanged
    | ReviewRequested
    | OpenIssuesCounted
    | LabelChanged
    | MilestoneChanged
    | TimeChanged
    | IssuesForgotten
)
