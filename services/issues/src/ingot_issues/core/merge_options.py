"""How a pull request is to be merged."""

import msgspec

from ingot_contracts.pulls import MergeStyle


class MergeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``head_sha`` is the commit that the caller wants to merge, if any. Empty texts stand for the usual ones.

    ``overrides``: not obey the protection of the branch, where its rule lets the caller do that.
    """

    style: MergeStyle = "merge"
    head_sha: str = ""
    title: str = ""
    message: str = ""
    deletes_branch: bool = False
    overrides: bool = False
