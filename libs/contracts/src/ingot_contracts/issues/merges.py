"""Scheduled merges of pull requests, and reasons against a merge."""

from datetime import datetime
from typing import Literal

import msgspec

from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.merges import MergeStyle

DemandKind = Literal["outsider", "approvals", "changes_requested", "reviews_requested", "outdated", "checks"]
"""The kind of an unmet requirement of the rule for the base branch."""
NotMergeable = Literal["conflict", "no_base_branch", "comparing"]
RefusalKind = Literal["ended", "access", "draft", "archived", "styles", "blocked", NotMergeable, DemandKind]


class MergeRefusal(msgspec.Struct):
    """A reason why the caller cannot merge: a text for people, and its kind.

    ``overridable``: `force_merge` ignores it. ``recorded``: it is from the last comparison of the branches. A
    merge compares them again. ``may_pass``: a merge with `merge_when_checks_succeed` waits for it.
    """

    reason: str
    kind: RefusalKind
    overridable: bool = False
    recorded: bool = False
    may_pass: bool = False


class ScheduledMerge(msgspec.Struct, kw_only=True):
    """A scheduled merge, and the user who scheduled it.

    `head_commit_id` is the commit to merge, if the request named one.
    """

    user: User
    style: MergeStyle = msgspec.field(name="do")
    head_commit_id: str
    delete_branch_after_merge: bool
    created_at: datetime
