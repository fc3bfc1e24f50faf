"""Events of issues."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.issues import Comment, Issue, TrackedTime
from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.notices import NoticeSource, NotifiedPerson
from ingot_contracts.issues.pulls import BaseBranch, PullRequest, PullRequestBranch, RequestedTeam
from ingot_contracts.issues.reviews import PullReview
from ingot_contracts.limits import (
    ASSIGNEES,
    EVENT_BODY_BYTES,
    EVENT_BRANCH_BYTES,
    EVENT_CHANGED_LABELS,
    EVENT_PEOPLE,
    Omitted,
    most_bytes,
    most_items,
)
from ingot_contracts.repos.repositories import Repository


class PullRequestPart(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a pull request that its issue does not have, for events that carry the issue.

    ``head.repo`` is None if it is the repository of the event.
    """

    id: int
    url: str
    diff_url: str = ""
    patch_url: str = ""
    mergeable: bool = False
    merged: bool = False
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None
    merged_by: User | None = None
    base: BaseBranch
    head: PullRequestBranch
    merge_base: str = ""
    allow_maintainer_edit: bool = False
    requested_reviewers: Annotated[list[User], most_items(ASSIGNEES)] = []
    requested_reviewers_teams: Annotated[list[RequestedTeam], most_items(ASSIGNEES)] = []
    additions: int | None = None
    deletions: int | None = None
    changed_files: int | None = None
    draft: bool = False
    review_comments: int = 0


class ChangedText(msgspec.Struct, frozen=True):
    """The former value of a text. Its key in JSON is ``from``."""

    from_: str = msgspec.field(name="from")


class Changes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Former values of edited fields. ``ref`` is the base branch of a pull request."""

    title: ChangedText | None = None
    body: Annotated[ChangedText | None, most_bytes(EVENT_BODY_BYTES)] = None
    ref: Annotated[ChangedText | None, most_bytes(EVENT_BRANCH_BYTES)] = None


class IssueChanges(Changes, frozen=True, kw_only=True, omit_defaults=True):
    """Former values of edited fields, or the labels that were added and removed."""

    added_labels: Annotated[list[Label], most_items(EVENT_CHANGED_LABELS)] = []
    removed_labels: Annotated[list[Label], most_items(EVENT_CHANGED_LABELS)] = []


IssueAction = Literal[
    "opened", "edited", "closed", "reopened", "assigned", "unassigned",
    "label_updated", "label_cleared", "milestoned", "demilestoned", "locked", "unlocked",
]  # fmt: skip
CommentAction = Literal["created", "edited", "deleted"]
PullRequestAction = IssueAction | Literal["synchronized"]


class IssueChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.issue.changed.v1"):
    """An issue changed. ``action`` has the name of the webhook action."""

    action: IssueAction
    issue: Issue
    repository: Repository
    sender: User
    changes: IssueChanges | None = None
    omitted: Omitted = Omitted()


class IssueDeleted(msgspec.Struct, frozen=True, kw_only=True, tag="issues.issue.deleted.v1"):
    """An issue or pull request was deleted with its comments. Consumers must delete copies of its texts.

    ``pull_id`` is the ``id`` of ``PullRequest``; 0 for an issue.
    """

    repository_id: int
    number: int
    pull_id: int = 0


class CommentChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.comment.changed.v1"):
    """A comment changed. ``on_line``: a review comment on a line.

    The id of such a comment may equal the id of a normal comment. ``pull_request`` has the fields of a pull
    request that ``issue`` lacks.
    """

    action: CommentAction
    issue: Issue
    pull_request: PullRequestPart | None = None
    comment: Comment
    repository: Repository
    sender: User
    changes: Changes | None = None
    is_pull: bool = False
    on_line: bool = False
    omitted: Omitted = Omitted()


class PullRequestChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.pull.changed.v1"):
    """A pull request changed. For a merge, ``action`` is ``closed`` and ``pull_request.merged`` is True."""

    action: PullRequestAction
    pull_request: PullRequest
    repository: Repository
    sender: User
    changes: IssueChanges | None = None
    omitted: Omitted = Omitted()


ReviewAction = Literal["submitted", "dismissed", "undismissed"]


class ReviewChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.review.changed.v1"):
    """A review was submitted, dismissed or undismissed. Pending reviews are not announced."""

    action: ReviewAction
    review: PullReview
    pull_request: PullRequest
    repository: Repository
    sender: User
    omitted: Omitted = Omitted()


class ReviewRequested(msgspec.Struct, frozen=True, kw_only=True, tag="issues.review.requested.v1"):
    """A review was requested or, with ``removed``, the request was withdrawn.

    For a request to a ``team`` the ``reviewer`` is the ghost account.
    """

    reviewer: User
    team: RequestedTeam | None = None
    pull_request: PullRequest
    repository: Repository
    sender: User
    removed: bool = False
    omitted: Omitted = Omitted()


class OpenIssuesCounted(msgspec.Struct, frozen=True, kw_only=True, tag="issues.open.counted.v1"):
    """The number of open issues of a repository, for the repository's own counter."""

    repository_id: int
    open_issues: int
    open_pulls: int = 0


class LabelChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.label.changed.v1"):
    """A label of a repository changed. A deleted label is also removed from issues."""

    action: Literal["created", "edited", "deleted"]
    label: Label
    repository: Repository
    sender: User


class MilestoneChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.milestone.changed.v1"):
    """A milestone changed. ``edited`` includes closing and reopening."""

    action: Literal["created", "edited", "deleted"]
    milestone: Milestone
    repository: Repository
    sender: User
    omitted: Omitted = Omitted()


class TimeChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.time.changed.v1"):
    """Tracked time was added or deleted. It cannot be edited."""

    action: Literal["created", "edited", "deleted"]
    time: TrackedTime
    repository: Repository
    sender: User


class IssuesForgotten(msgspec.Struct, frozen=True, kw_only=True, tag="issues.repository.forgotten.v1"):
    """issues has deleted all data of a deleted repository."""

    repository_id: int


class PeopleNotified(msgspec.Struct, frozen=True, kw_only=True, tag="issues.people.notified.v1"):
    """People have a new notification. Texts and access are read when the notification is sent."""

    repository_id: int
    issue_id: int
    source: NoticeSource
    people: Annotated[list[NotifiedPerson], most_items(EVENT_PEOPLE)] = []


class ChecksFailed(msgspec.Struct, frozen=True, kw_only=True, tag="issues.checks.failed.v1"):
    """A check of the head of a pull request has failed.

    ``author_id`` is the author of the pull request, who is subscribed to it.
    """

    repository_id: int
    issue_id: int
    author_id: int
    sha: str


class MergeRequested(msgspec.Struct, frozen=True, kw_only=True, tag="issues.merge.requested.v1"):
    """A scheduled merge may be possible now. Wakes the workers."""

    issue_id: int


Event = (
    IssueChanged
    | IssueDeleted
    | CommentChanged
    | PullRequestChanged
    | ReviewChanged
    | ReviewRequested
    | OpenIssuesCounted
    | LabelChanged
    | MilestoneChanged
    | TimeChanged
    | IssuesForgotten
    | MergeRequested
    | PeopleNotified
    | ChecksFailed
)
