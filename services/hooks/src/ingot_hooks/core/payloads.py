"""Payloads: the texts that receivers of hooks know, with their fields in that order."""

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from ingot_contracts.identity import User
from ingot_contracts.issues import (
    Changes,
    Comment,
    Issue,
    PullRequest,
    RequestedTeam,
)
from ingot_contracts.limits import Omitted
from ingot_contracts.repos import (
    Commit,
    Release,
    Repository,
)


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
    """``forkee`` is the original."""

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


class IssuePayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    secret: str
    action: str
    number: int
    changes: Changes | None = None
    issue: Issue
    repository: Repository
    sender: User
    omitted: Omitted | UnsetType = UNSET


class IssueCommentPayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    secret: str
    action: str
    issue: Issue
    comment: Comment
    changes: Changes | None = None
    repository: Repository
    sender: User
    is_pull: bool
    omitted: Omitted | UnsetType = UNSET


class ReviewText(msgspec.Struct, frozen=True, kw_only=True):
    """``type`` is the part of ``pull_request_review``, ``content`` the text."""

    type: str
    content: str


class PullRequestPayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``review`` is there for a review, ``requested_reviewer`` or ``requested_team`` for a request of one."""

    secret: str
    action: str
    number: int
    changes: Changes | None = None
    pull_request: PullRequest
    requested_reviewer: User | None = None
    requested_team: RequestedTeam | None = None
    repository: Repository
    sender: User
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
    repository: Repository
    sender: User


class ReleasePayload(msgspec.Struct, frozen=True, kw_only=True):
    secret: str
    action: str
    release: Release
    repository: Repository
    sender: User
    omitted: Omitted | UnsetType = UNSET


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
)
