"""Reasons that block a merge, with their remedies, and titles of drafts."""

import re
from typing import Any

from ingot_contracts.issues.merges import RefusalKind

_DRAFT = re.compile(r"\s*(?:wip:|\[wip\])\s*", re.IGNORECASE)
REMEDIES: dict[RefusalKind, tuple[str, str]] = {
    "conflict": ("Resolve the conflicts", "#conflicts"),
    "draft": ("Mark it as ready for review", "#draft"),
    "blocked": ("Close the issues that block it", "#blocked"),
    "approvals": ("Ask reviewers who count for this branch to approve", "#reviews"),
    "changes_requested": ("Ask the reviewer to look again, or dismiss the review", "#reviews"),
    "reviews_requested": ("Wait for these reviews, or take the requests back", "#reviews"),
    "checks": ("Open the failed checks, then push a correction", "#checks"),
    "outdated": ("Update the branch", "#update"),
    "comparing": ("Load the page again in a moment", ""),
    "outsider": ("Ask a person who may merge into this branch", ""),
    "styles": ("Ask an administrator to allow a style in the settings", ""),
    "no_base_branch": ("Choose another base branch with Edit", ""),
}
"""The remedy and its place on the page, by the kind of a reason."""


def with_remedies(refusals: list[Any] | None) -> list[Any] | None:
    """Return the refusals with ``remedy`` and ``place``; both are empty for an unknown kind."""
    return None if refusals is None else [_with_remedy(refusal) for refusal in refusals]


def _with_remedy(refusal: Any) -> Any:
    kind = refusal.get("kind", "")
    remedy, place = REMEDIES.get(kind, ("", ""))
    return refusal | {"kind": kind, "remedy": remedy, "place": place}


def draft_title(title: str) -> str:
    """Return the title that marks a pull request as a draft."""
    return title if _DRAFT.match(title) else f"WIP: {title}"


def ready_title(title: str) -> str:
    """Return the title without draft markers; unchanged if nothing else is left."""
    rest = title
    while match := _DRAFT.match(rest):
        rest = rest[match.end() :]
    return rest or title
