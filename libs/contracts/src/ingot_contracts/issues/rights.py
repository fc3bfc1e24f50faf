"""The caller's rights to an issue, as issues reports them to web."""

import msgspec


class IssueRights(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's rights to an issue or pull request. Pages use them to show only permitted actions."""

    may_edit: bool = False
