"""Owned by issues: how issues and pull requests look to the world, and what happened to them."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity import User
from ingot_contracts.repos import Repository

State = Literal["open", "closed"]


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """``color`` is six hex digits without ``#``."""

    id: int
    name: str
    color: str
    url: str = ""


class Milestone(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    title: str
    description: str = ""
    state: State = "open"
    open_issues: int = 0
    closed_issues: int = 0
    closed_at: datetime | None = None
    due_on: datetime | None = None


class PullRequestMeta(msgspec.Struct, frozen=True, kw_only=True):
    merged: bool = False
    merged_at: datetime | None = None


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """``number`` counts issues and pull requests of the repository together."""

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


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two URLs of what it belongs to is filled, the other empty."""

    id: int
    html_url: str
    pull_request_url: str = ""
    issue_url: str = ""
    user: User
    body: str
    created_at: datetime
    updated_at: datetime


class TrackedTime(msgspec.Struct, frozen=True, kw_only=True):
    """``time`` in seconds."""

    id: int
    created: datetime
    time: int
    user_id: int
    issue_id: int


class PullRequestBranch(msgspec.Struct, frozen=True, kw_only=True):
    """``repo`` is None when the fork is gone; ``sha`` is then the last known one."""

    label: str
    ref: str
    sha: str
    repo_id: int
    repo: Repository | None = None


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
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
    created_at: datetime | None = None
    updated_at: datetime | None = None
    closed_at: datetime | None = None
    due_date: datetime | None = None
    is_locked: bool = False


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
PullRequestAction = Literal[
    "opened", "edited", "closed", "reopened", "synchronized", "assigned", "unassigned",
    "label_updated", "label_cleared", "milestoned", "demilestoned", "locked", "unlocked",
]  # fmt: skip


class IssueChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.issue.changed.v1"):
    """Something happened to an issue; ``action`` says what, in the words that webhooks use."""

    action: IssueAction
    issue: Issue
    repository: Repository
    sender: User
    changes: Changes | None = None


class CommentChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.comment.changed.v1"):
    action: CommentAction
    issue: Issue
    comment: Comment
    repository: Repository
    sender: User
    changes: Changes | None = None
    is_pull: bool = False


class PullRequestChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.pull.changed.v1"):
    """A merge is ``closed`` with ``pull_request.merged``."""

    action: PullRequestAction
    pull_request: PullRequest
    repository: Repository
    sender: User
    changes: Changes | None = None


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


class TimeChanged(msgspec.Struct, frozen=True, kw_only=True, tag="issues.time.changed.v1"):
    """Time that was tracked on an issue. Nothing edits or deletes any yet."""

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
    | OpenIssuesCounted
    | LabelChanged
    | MilestoneChanged
    | TimeChanged
    | IssuesForgotten
)
