"""Comparisons of two heads of a pull request. web requests them for its page."""

from datetime import datetime

import msgspec

from ingot_contracts.repos.range_diffs import RangeDiff

MOST_HEADS = 100


class HeadVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A head of a pull request. ``created_at`` is when a push to it was noted; None for the first head."""

    sha: str
    created_at: datetime | None = None


class HeadComparison(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repos/{owner}/{repo}/pulls/{index}/range-diff?old=&new=: compare two heads.

    ``heads`` are the heads that can be compared, oldest first: the latest ``MOST_HEADS``. Without ``old`` and
    ``new`` nothing is compared. 404 for a commit that was no head of the pull request.
    """

    heads: list[HeadVersion] = []
    comparison: RangeDiff | None = None
