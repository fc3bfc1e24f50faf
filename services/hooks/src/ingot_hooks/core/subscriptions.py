"""Which hooks an event is for: the names that can be subscribed to, and the filter on branches."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

EVENTS = (
    "create",
    "push",
    "pull_request",
    "delete",
    "fork",
    "issues",
    "issue_comment",
    "repository",
    "release",
)
"""Every event of a hook, in the order in which the API lists them."""

DEFAULT = ("push",)


def selected(names: Sequence[str]) -> list[str]:
    """What naming ``names`` subscribes to: push when there are none; names that do not exist are ignored."""
    return [event for event in EVENTS if event in names] if names else list(DEFAULT)


def wanted(events: Sequence[str], branch_filter: str, *, event: str, branch: str) -> bool:
    """Whether a hook with these settings fires for ``event``. ``branch`` is empty when none is concerned."""
    return event in events and (not branch or branch_matches(branch_filter, branch))


def branch_matches(branch_filter: str, branch: str) -> bool:
    """An empty filter lets all pass; ``{main,release/*}`` is a list of patterns, anything else is one."""
    if not branch_filter:
        return True
    if branch_filter.startswith("{") and branch_filter.endswith("}"):
        return any(fnmatchcase(branch, pattern.strip()) for pattern in branch_filter[1:-1].split(","))
    return fnmatchcase(branch, branch_filter)
