"""Reasons against a merge of a pull request."""

from typing import Literal

import msgspec

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
