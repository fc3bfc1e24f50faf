"""Which hooks get an event: the names of events to subscribe to, and the branch filter."""

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
"""The families of events. The header ``X-Gitea-Event`` of a delivery names the family."""

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
    "pull_request_review",
    "pull_request_review_approved",
    "pull_request_review_rejected",
    "pull_request_review_comment",
    "pull_request_review_request",
)
"""Parts of a family, to subscribe to a part alone."""

REVIEWS = ("pull_request_review_approved", "pull_request_review_rejected", "pull_request_review_comment")
"""The parts of ``pull_request_review``. In ``X-Gitea-Event`` each has a name of its own; all are of ``pull_request``."""

DEFAULT = ("push",)


def subscribed_events(names: Sequence[str]) -> list[str]:
    """What naming ``names`` subscribes to: push if there are no names. Names that do not exist are ignored."""
    return [event for event in (*EVENTS, *KINDS) if event in names] if names else list(DEFAULT)


def is_subscribed(events: Sequence[str], branch_filter: str, *, event: str, kind: str, branch: str) -> bool:
    """Whether a hook with these settings gets an event of the family ``event`` and its part ``kind``.

    The name of a family stands for all its parts. ``branch`` is empty for an event that has no branch.
    """
    names = {event, kind, f"{event}_only"} if kind == event else {event, kind}
    if kind in REVIEWS:
        names = {"pull_request", "pull_request_review", kind}
    named = not names.isdisjoint(events)
    return named and (not branch or branch_matches(branch_filter, branch))


def kind_of(event: str, action: str) -> str:
    """The part of the family ``event`` to which ``action`` belongs; the family itself if it has no such part."""
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
        "review_requested": f"{family}_review_request",
        "review_request_removed": f"{family}_review_request",
    }.get(action, event)


def branch_matches(branch_filter: str, branch: str) -> bool:
    """An empty filter matches every branch. ``{main,release/*}`` is a list of patterns, other text is one pattern."""
    if not branch_filter:
        return True
    if branch_filter.startswith("{") and branch_filter.endswith("}"):
        return any(fnmatchcase(branch, pattern.strip()) for pattern in branch_filter[1:-1].split(","))
    return fnmatchcase(branch, branch_filter)
