"""Commits of two heads in pairs: their marks, and their differences as HTML."""

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup, escape

from ingot_contracts.issues.head_comparisons import HeadVersion
from ingot_contracts.repos.range_diffs import CommitPair, PairState
from ingot_web.pages.rules.templates import moment, short

BADGES: dict[PairState, str] = {"unchanged": "", "changed": "merged", "added": "good", "dropped": "bad"}
_CLASSES = {"+": "add", "-": "del"}


def difference_html(text: str) -> Markup:
    """Return the lines of a diff of patches. A page may have thousands of them.

    The class is by the first sign, which says what the new version has changed.
    """
    rows = (
        f'<span class="{_CLASSES.get(line[:1], "")}">{escape(line)}\n</span>' for line in text.split("\n")
    )
    return Markup("".join(rows))  # noqa: S704 - escaped


def totals(pairs: Sequence[CommitPair]) -> str:
    """Return the number of pairs in each state, as text."""
    counts = Counter(pair.state for pair in pairs)
    return ", ".join(f"{counts[state]} {state}" for state in BADGES if counts[state])


def head_choices(heads: Sequence[HeadVersion], present: str) -> list[tuple[str, str]]:
    """Return the id and the label of each head, latest first."""
    return [(head.sha, _label(head, present)) for head in reversed(heads)]


def _label(head: HeadVersion, present: str) -> str:
    parts = [short(head.sha)]
    if head.created_at is not None:
        parts.append(moment(head.created_at.isoformat()))
    if head.sha == present:
        parts.append("present head")
    return ", ".join(parts)
