"""Entries in the timeline of an issue. issues writes them, web describes them."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.issues.issues import Comment, Issue, TrackedTime
from ingot_contracts.issues.labels import Label, Milestone
from ingot_contracts.issues.pulls import RequestedTeam

TimelineType = Literal[
    "comment", "reopen", "close", "issue_ref", "commit_ref", "comment_ref", "pull_ref", "label",
    "milestone", "assignees", "change_title", "delete_branch", "start_tracking", "stop_tracking",
    "cancel_tracking", "add_time_manual", "added_deadline", "modified_deadline", "removed_deadline",
    "add_dependency", "remove_dependency", "review", "lock", "unlock", "change_target_branch",
    "delete_time_manual", "review_request", "merge_pull", "pull_push", "dismiss_review", "change_issue_ref",
    "pull_scheduled_merge", "pull_cancel_scheduled_merge", "pin", "unpin",
]  # fmt: skip
"""The API name of each kind of entry."""


class TimelineComment(msgspec.Struct, kw_only=True):
    """An entry of the timeline. ``type`` is the event and decides which other fields are set."""

    id: int
    type: TimelineType
    html_url: str
    pull_request_url: str
    issue_url: str
    user: User
    body: str
    created_at: datetime
    updated_at: datetime
    old_milestone: Milestone | None = None
    milestone: Milestone | None = None
    tracked_time: TrackedTime | None = None
    old_title: str = ""
    new_title: str = ""
    old_ref: str = ""
    new_ref: str = ""
    ref_issue: Issue | None = None
    ref_comment: Comment | None = None
    ref_action: str = ""
    ref_commit_sha: str = ""
    label: Label | None = None
    assignee: User | None = None
    removed_assignee: bool = False
    assignee_team: RequestedTeam | None = None
    resolve_doer: None = None
    dependent_issue: Issue | None = None
    project_id: int = 0
    old_project_id: int = 0
    review_id: int = 0
    original_author: str = ""
    original_author_id: int = 0
