"""Payloads of webhooks, with fields in the order that receivers expect, and the table of all events of hooks.

A new kind is a row in `FAMILIES` or `PARTS`. hooks reads these tables, web builds the checkboxes of its form
from them, and ``docs/webhooks.md`` is generated from them.
"""

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.events import (
    ChangedText,
    CommentChanged,
    IssueChanged,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
)
from ingot_contracts.issues.issues import Comment, Issue
from ingot_contracts.issues.labels import Label
from ingot_contracts.issues.pulls import PullRequest, RequestedTeam
from ingot_contracts.issues.reviews import ReviewStateName
from ingot_contracts.limits import Omitted
from ingot_contracts.repos.commits import Commit
from ingot_contracts.repos.events import (
    ImportFinished,
    PushReceived,
    ReleaseChanged,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryForked,
    StatusCreated,
    WikiChanged,
)
from ingot_contracts.repos.releases import Release
from ingot_contracts.repos.repositories import Repository


class CreatePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    sha: str
    ref: str
    ref_type: str
    repository: Repository
    sender: User


class PushPayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    ref: str
    before: str
    after: str
    compare_url: str
    commits: list[Commit]
    total_commits: int
    head_commit: Commit | None
    repository: Repository
    pusher: User
    sender: User
    push_options: list[str] | UnsetType = UNSET
    omitted: Omitted | UnsetType = UNSET


class DeletePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    ref: str
    ref_type: str
    pusher_type: str
    repository: Repository
    sender: User


class ForkPayload(msgspec.Struct, frozen=True, kw_only=True):
    """A repository was forked. ``forkee`` is the original."""

    secret: str
    forkee: Repository
    repository: Repository
    sender: User


class RepositoryPayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    action: str
    repository: Repository
    organization: User
    sender: User


class ChangesPayload(msgspec.Struct, frozen=True, kw_only=True):
    """Former values of edited fields, and the labels that were added and removed."""

    title: ChangedText | UnsetType = UNSET
    body: ChangedText | UnsetType = UNSET
    ref: ChangedText | UnsetType = UNSET
    added_labels: list[Label] = []
    removed_labels: list[Label] = []


class IssuePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    action: str
    number: int
    changes: ChangesPayload | UnsetType = UNSET
    issue: Issue
    repository: Repository
    sender: User
    commit_id: str = ""
    omitted: Omitted | UnsetType = UNSET


class IssueCommentPayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    action: str
    issue: Issue
    pull_request: PullRequest | UnsetType = UNSET
    comment: Comment
    changes: ChangesPayload | UnsetType = UNSET
    repository: Repository
    sender: User
    is_pull: bool
    omitted: Omitted | UnsetType = UNSET


class ReviewText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a review. ``type`` is the name of a `Part`, such as ``pull_request_review_approved``."""

    type: str
    content: str


class PullRequestPayload(msgspec.Struct, frozen=True, kw_only=True):
    """A payload for a change of a pull request.

    ``review`` is set for a review, ``requested_reviewer`` or ``requested_team`` for a request. ``commit_id``
    is always empty.
    """

    secret: str
    action: str
    number: int
    changes: ChangesPayload | UnsetType = UNSET
    pull_request: PullRequest
    requested_reviewer: User | None = None
    requested_team: RequestedTeam | UnsetType = UNSET
    repository: Repository
    sender: User
    commit_id: str = ""
    review: ReviewText | None = None
    omitted: Omitted | UnsetType = UNSET


class StatusPayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    id: int
    sha: str
    state: str
    context: str
    description: str
    target_url: str
    created_at: datetime
    updated_at: datetime
    commit: Commit | None
    repository: Repository
    sender: User
    omitted: Omitted | UnsetType = UNSET


class ReleasePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    action: str
    release: Release
    repository: Repository
    sender: User
    omitted: Omitted | UnsetType = UNSET


class WikiPayload(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a wiki changed. ``page`` is its address, ``comment`` the message of the commit."""

    secret: str
    action: str
    repository: Repository
    sender: User
    page: str
    comment: str


class ImportPayload(msgspec.Struct, frozen=True, kw_only=True):
    """An import of the repository has ended. ``action`` is ``finished``, or ``failed`` with a ``reason``.

    ``repeat`` counts how often the import was repeated.
    """

    secret: str
    action: str
    reason: str
    repeat: int
    repository: Repository
    sender: User


Payload = (
    CreatePayload
    | PushPayload
    | DeletePayload
    | ForkPayload
    | RepositoryPayload
    | IssuePayload
    | IssueCommentPayload
    | PullRequestPayload
    | StatusPayload
    | ReleasePayload
    | WikiPayload
    | ImportPayload
)
"""Any payload of a family."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A family of events of hooks. Hooks subscribe to its ``name``, which is also sent in ``X-Gitea-Event``.

    ``when`` completes the sentence "sent when …" in the docs. ``label`` is the label of its checkbox in web's
    form, at position ``box``. ``events`` are the service events that hooks announces as this family, with
    ``payload``.
    """

    name: str
    when: str
    label: str
    box: int
    events: tuple[type[msgspec.Struct], ...]
    payload: type[msgspec.Struct]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the family ``of``, or of a larger part. Hooks may subscribe to a part alone.

    ``actions`` are the actions of the family that belong to the part. ``review``: the part announces
    submitted reviews with this state. ``header`` then replaces the name of the family in ``X-Gitea-Event``.
    Without ``label`` the part has no checkbox.
    """

    name: str
    of: str
    actions: tuple[str, ...] = ()
    review: ReviewStateName | None = None
    header: str = ""
    label: str = ""
    box: int = 0


FAMILIES = (
    Family(
        name="create",
        when="a branch or tag was created; comes before its `push`",
        label="New branches and tags",
        box=2,
        events=(PushReceived,),
        payload=CreatePayload,
    ),
    Family(
        name="push",
        when="a branch or tag moved or was created, or a tag was deleted",
        label="Pushes",
        box=1,
        events=(PushReceived,),
        payload=PushPayload,
    ),
    Family(
        name="pull_request",
        when="a pull request was opened, got commits, was reviewed, was merged, …",
        label="Pull requests",
        box=6,
        events=(PullRequestChanged, ReviewChanged, ReviewRequested),
        payload=PullRequestPayload,
    ),
    Family(
        name="delete",
        when="a branch or tag was deleted; that of a tag comes after its `push`",
        label="Deleted branches and tags",
        box=3,
        events=(PushReceived,),
        payload=DeletePayload,
    ),
    Family(
        name="fork",
        when="the repository was forked",
        label="Forks",
        box=12,
        events=(RepositoryForked,),
        payload=ForkPayload,
    ),
    Family(
        name="issues",
        when="an issue was opened, edited, closed, …",
        label="Issues",
        box=4,
        events=(IssueChanged,),
        payload=IssuePayload,
    ),
    Family(
        name="issue_comment",
        when=(
            "an issue or a pull request got a comment, or one was edited or deleted; those on lines are below"
        ),
        label="Comments of issues",
        box=5,
        events=(CommentChanged,),
        payload=IssueCommentPayload,
    ),
    Family(
        name="repository",
        when="a repository of the organization was created or deleted",
        label="New and deleted repositories",
        box=11,
        events=(RepositoryCreated, RepositoryDeleted),
        payload=RepositoryPayload,
    ),
    Family(
        name="release",
        when="a release was published, edited or deleted",
        label="Releases",
        box=10,
        events=(ReleaseChanged,),
        payload=ReleasePayload,
    ),
    Family(
        name="status",
        when="a commit got a status",
        label="States of commits",
        box=9,
        events=(StatusCreated,),
        payload=StatusPayload,
    ),
    Family(
        name="wiki",
        when="a page of the wiki was created, edited or deleted, also by a push",
        label="Pages of the wiki",
        box=13,
        events=(WikiChanged,),
        payload=WikiPayload,
    ),
    Family(
        name="import",
        when="an import of the repository finished or failed",
        label="Imports",
        box=14,
        events=(ImportFinished,),
        payload=ImportPayload,
    ),
)
"""All families, in the order in which the API lists them."""

PARTS = (
    Part(name="issues_only", of="issues"),
    Part(name="issue_assign", of="issues", actions=("assigned", "unassigned")),
    Part(name="issue_label", of="issues", actions=("label_updated", "label_cleared")),
    Part(name="issue_milestone", of="issues", actions=("milestoned", "demilestoned")),
    Part(name="pull_request_only", of="pull_request"),
    Part(name="pull_request_assign", of="pull_request", actions=("assigned", "unassigned")),
    Part(name="pull_request_label", of="pull_request", actions=("label_updated", "label_cleared")),
    Part(name="pull_request_milestone", of="pull_request", actions=("milestoned", "demilestoned")),
    Part(name="pull_request_comment", of="issue_comment", label="Comments of pull requests", box=7),
    Part(name="pull_request_sync", of="pull_request", actions=("synchronized",)),
    Part(name="pull_request_review", of="pull_request", label="Reviews of pull requests", box=8),
    Part(
        name="pull_request_review_approved",
        of="pull_request_review",
        review="APPROVED",
        header="pull_request_approved",
    ),
    Part(
        name="pull_request_review_rejected",
        of="pull_request_review",
        review="REQUEST_CHANGES",
        header="pull_request_rejected",
    ),
    Part(
        name="pull_request_review_comment",
        of="pull_request_review",
        review="COMMENT",
        header="pull_request_comment",
    ),
    Part(
        name="pull_request_review_request",
        of="pull_request",
        actions=("review_requested", "review_request_removed"),
    ),
)
"""All parts.

A part whose name ends in ``_only`` has the events that belong to no other part of its family.
"""


def boxes() -> list[tuple[str, str]]:
    """Return name and label of each checkbox in a form, in order."""
    rows: list[Family | Part] = [*FAMILIES, *(part for part in PARTS if part.label)]
    return [(row.name, row.label) for row in sorted(rows, key=lambda row: row.box)]
