"""Issues, comments and tracked times in the form of the API."""

from datetime import datetime
from typing import Annotated

import msgspec

from ingot_contracts.attachments import Attachment
from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.states import State
from ingot_contracts.limits import ASSIGNEES, EVENT_ATTACHMENTS, EVENT_LABELS, EventBody, most_items


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
    """An issue. ``number`` counts issues and pull requests of a repository together.

    ``ref`` is the branch or tag that the issue is about. ``content_version`` grows with each edit of the
    body. ``original_author`` is the author at the source of an import. Ingot has no estimates and projects;
    their fields are always empty.
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
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    pull_request: PullRequestMeta | None = None
    html_url: str = ""
    due_date: datetime | None = None
    is_locked: bool = False
    repository: RepositoryMeta | None = None
    pin_order: int = 0
    assets: Annotated[list[Attachment], most_items(EVENT_ATTACHMENTS)] = []
    ref: str = ""
    content_version: int = 0
    original_author: str = ""
    original_author_id: int = 0
    time_estimate: int = 0
    projects: list[int] = []


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment. Either ``issue_url`` or ``pull_request_url`` is set, the other is empty."""

    id: int
    html_url: str
    pull_request_url: str = ""
    issue_url: str = ""
    user: User
    body: EventBody
    created_at: datetime
    updated_at: datetime
    assets: Annotated[list[Attachment], most_items(EVENT_ATTACHMENTS)] = []
    original_author: str = ""
    original_author_id: int = 0


class TrackedTime(msgspec.Struct, frozen=True, kw_only=True):
    """Tracked time. ``time`` is in seconds. Events and timelines omit ``user_name`` and ``issue``."""

    id: int
    created: datetime
    time: int
    user_id: int
    issue_id: int
    user_name: str = ""
    issue: Issue | None = None
