"""What somebody may do to an issue, as issues tells web."""

import msgspec


class IssueRights(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller may do to an issue or pull request, for pages that ask before they change it."""

    may_edit: bool = False
