"""Kinds of entries in the timeline of an issue, as the API names them.

issues writes the entries, web describes them.
"""

from typing import Literal

TimelineType = Literal[
    "comment", "reopen", "close", "issue_ref", "commit_ref", "comment_ref", "pull_ref", "label",
    "milestone", "assignees", "change_title", "delete_branch", "start_tracking", "stop_tracking",
    "cancel_tracking", "add_time_manual", "added_deadline", "modified_deadline", "removed_deadline",
    "add_dependency", "remove_dependency", "review", "lock", "unlock", "change_target_branch",
    "delete_time_manual", "review_request", "merge_pull", "pull_push", "dismiss_review", "change_issue_ref",
    "pull_scheduled_merge", "pull_cancel_scheduled_merge", "pin", "unpin",
]  # fmt: skip
