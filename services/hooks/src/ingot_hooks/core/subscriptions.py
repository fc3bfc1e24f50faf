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
    "status",
)
"""The families of events: what the headers of a delivery name."""

KINDS = (
    "issues_only",
    "issue_assign",
    "issue_label",
    "issue_milestone",
    "pull_request_only",
    "pull_request_assign",
    "pull_request_label",
    "pull_request_milestone",
    "pull_request_comment",
    "pull_request_sync",
)
"""Parts of a family, for hooks that want no more than that."""

DEFAULT = ("push",)


def selected(names: Sequence[str]) -> list[str]:
    """What naming ``names`` subscribes to: push when there are none; names that do not exist are ignored."""
    return [event for event in (*EVENTS, *KINDS) if event in names] if names else list(DEFAULT)


def wanted(events: Sequence[str], branch_filter: str, *, event: str, kind: str, branch: str) -> bool:
    """Whether a hook with these settings fires for ``event``, and ``kind`` of it.

    ``branch`` is empty when none is concerned. Naming a family means all of it.
    """
    named = event in events or kind in events or (kind == event and f"{event}_only" in events)
    return named and (not branch or branch_matches(branch_filter, branch))


def kind_of(event: str, action: str) -> str:
    """The part of the family ``event`` that ``action`` belongs to; the family itself when there is none."""
    if event not in ("issues", "pull_request"):
        return event
    family = "issue" if event == "issues" else event
    return {
        "assigned": f"{family}_assign",
        "unassigned": f"{family}_assign",
        "label_updated": f"{family}_label",
        "label_cleared": f"{family}_label",
        "milestoned": f"{family}_milestone",
        "demilestoned": f"{family}_milestone",
        "synchronized": f"{family}_sync",
    }.get(action, event)


def branch_matches(branch_filter: str, branch: str) -> bool:
    """An empty filter lets all pass; ``{main,release/*}`` is a list of patterns, anything else is one."""
    if not branch_filter:
        return True
    if branch_filter.startswith("{") and branch_filter.endswith("}"):
        return any(fnmatchcase(branch, pattern.strip()) for pattern in branch_filter[1:-1].split(","))
    return fnmatchcase(branch, branch_filter)
