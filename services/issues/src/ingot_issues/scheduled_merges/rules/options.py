"""Options of a merge."""

import msgspec

from ingot_contracts.repos.merges import MergeStyle


class MergeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a merge. ``head_sha`` is the commit to merge, ``base_branch`` its target.

    Empty texts stand for the defaults. ``overrides``: ignore the protection of the branch, if its rule allows
    that.
    """

    style: MergeStyle = "merge"
    head_sha: str = ""
    base_branch: str = ""
    title: str = ""
    message: str = ""
    deletes_branch: bool = False
    overrides: bool = False
