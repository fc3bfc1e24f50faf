"""Pull requests in the form of the API."""

from datetime import datetime
from typing import Annotated

import msgspec

from ingot_contracts.identity.accounts import User, Visibility
from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.states import State
from ingot_contracts.limits import (
    ASSIGNEES,
    EVENT_LABELS,
    EventBody,
    EventBranch,
    EventShortText,
    most_bytes,
    most_items,
)
from ingot_contracts.repos.repositories import Repository


class BaseBranch(msgspec.Struct, frozen=True, kw_only=True):
    """The base of a pull request, without its repository."""

    label: EventBranch
    ref: EventBranch
    sha: str
    repo_id: int


class PullRequestBranch(BaseBranch, frozen=True, kw_only=True):
    """The base or head of a pull request.

    If the fork was deleted, ``repo`` is None, and ``sha`` is the last known commit.
    """

    repo: Repository | None = None


class NoUnits(msgspec.Struct, frozen=True):
    """An empty object: the units of a team that the reader may not see."""


class RequestedTeam(msgspec.Struct, frozen=True, kw_only=True):
    """A requested team of the repository's organization.

    All readers of the pull request see its id and name. The other fields are always empty, because only
    members of the organization may see them.
    """

    id: int
    name: EventShortText
    description: EventShortText = ""
    organization: None = None
    permission: EventShortText = ""
    units: Annotated[list[Annotated[str, most_bytes(20)]], most_items(10)] = []
    units_map: NoUnits = NoUnits()
    includes_all_repositories: bool = False
    can_create_org_repo: bool = False
    visibility: Visibility = "limited"


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request.

    ``additions``, ``deletions`` (lines) and ``changed_files`` are None until they are counted.

    ``allow_maintainer_edit``: while it is open, users with write access to the base may push to the head.
    ``draft`` means that the title marks it as work in progress. ``review_comments`` counts comments on lines
    in all submitted reviews. ``original_merger`` is the login, at the source of an import, of the person who
    merged it; otherwise empty.
    """

    id: int
    url: str
    number: int
    user: User
    title: str
    body: EventBody = ""
    labels: Annotated[list[Label], most_items(EVENT_LABELS)] = []
    milestone: Milestone | None = None
    assignee: User | None = None
    assignees: Annotated[list[User], most_items(ASSIGNEES)] = []
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
    requested_reviewers: Annotated[list[User], most_items(ASSIGNEES)] = []
    requested_reviewers_teams: Annotated[list[RequestedTeam], most_items(ASSIGNEES)] = []
    pin_order: int = 0
    additions: int | None = None
    deletions: int | None = None
    changed_files: int | None = None
    content_version: int = 0
    draft: bool = False
    review_comments: int = 0
    original_merger: str = ""
