"""Heads of a pull request, before and after the pushes that its timeline records."""

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from ingot_contracts.issues.head_comparisons import MOST_HEADS, HeadVersion
from ingot_issues.records.store.timeline import Details, PushRow

_FULL_ID = re.compile("[0-9a-f]{40}")


def is_full_id(text: str) -> bool:
    """True if the text is the full id of a commit."""
    return _FULL_ID.fullmatch(text) is not None


def heads_of(pushes: Sequence[PushRow], present: str) -> list[HeadVersion]:
    """Return the heads before and after these pushes, oldest first: the latest ``MOST_HEADS``.

    A head to which the branch returned has its latest place.
    """
    created_at: dict[str, datetime | None] = {}
    for push in pushes:
        details = msgspec.json.decode(push.details, type=Details)
        if details.old_ref not in created_at:
            created_at[details.old_ref] = None
        created_at.pop(details.new_ref, None)
        created_at[details.new_ref] = push.created_at
    if present not in created_at:
        created_at[present] = None
    return [HeadVersion(sha=sha, created_at=at) for sha, at in created_at.items() if sha][-MOST_HEADS:]
