"""Two versions of the commits of a pull request. web sends requests to issues, issues to repos."""

from typing import Literal

import msgspec

PairState = Literal["unchanged", "changed", "dropped", "added"]


class CommitPair(msgspec.Struct, frozen=True, kw_only=True):
    """A commit in the old and in the new version. ``old`` or ``new`` is empty if that version lacks it.

    ``difference`` is the diff of both patches (git-range-diff(1)), empty unless the commit has changed.
    """

    state: PairState
    old: str = ""
    new: str = ""
    title: str
    difference: str = ""


class RangeDiff(msgspec.Struct, frozen=True, kw_only=True):
    """GET /internal/repositories/{id}/range-diff?old=&new=&base=&base_tip=: the commits of two heads.

    The commits of a head are those that ``base_tip`` lacks, the tip of the base branch. If that contains the
    head, they are those that ``base`` lacks, the merge base. ``missing`` is a head that no longer exists. In
    this case there are no pairs. Commits need not be in a visible history: issues names only heads of pull
    requests that the caller may read. 413 if the work is too large.
    """

    pairs: list[CommitPair] = []
    missing: str = ""
