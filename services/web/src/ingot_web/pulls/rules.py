"""Reasons against a merge with their remedies, and titles of drafts."""

import re
from typing import Any

CONFLICT = "the branches conflict"
_DRAFT = re.compile(r"\s*(?:wip:|\[wip\])\s*", re.IGNORECASE)
_REMEDIES = (
    (CONFLICT, "Merge the base branch in a clone and resolve the conflicts", "#conflicts"),
    ("work in progress", "Mark it as ready for review", "#draft"),
    ("is blocked by", "Close the issues that block it", "#blocked"),
    (" approvals", "Ask reviewers who count for this branch to approve", "#reviews"),
    ("changes are requested", "Ask the reviewer to look again, or dismiss the review", "#reviews"),
    ("reviews are requested", "Wait for these reviews, or take the requests back", "#reviews"),
    ("checks have not succeeded", "Open the failed checks, then push a correction", "#checks"),
    ("behind the base branch", "Update the branch", "#update"),
    ("still being compared", "Load the page again in a moment", ""),
    ("not among those who may merge", "Ask a person who may merge into this branch", ""),
    ("allows no style", "Ask an administrator to allow a style in the settings", ""),
    ("base branch is gone", "Choose another base branch with Edit", ""),
)
"""Parts of reasons, what to do, and the place on the page where it is done."""


def with_remedies(refusals: list[Any] | None) -> list[Any] | None:
    """Return the refusals with ``remedy`` and ``place``; both are empty for an unknown reason."""
    return None if refusals is None else [_with_remedy(refusal) for refusal in refusals]


def _with_remedy(refusal: Any) -> Any:
    for part, remedy, place in _REMEDIES:
        if part in refusal["reason"]:
            return refusal | {"remedy": remedy, "place": place}
    return refusal | {"remedy": "", "place": ""}


def draft_title(title: str) -> str:
    """Return the title that marks a pull request as a draft."""
    return title if _DRAFT.match(title) else f"WIP: {title}"


def ready_title(title: str) -> str:
    """Return the title without the marks of a draft; the title itself if nothing else is left."""
    rest = title
    while match := _DRAFT.match(rest):
        rest = rest[match.end() :]
    return rest or title
