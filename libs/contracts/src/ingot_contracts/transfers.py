"""A transfer of a repository that waits for its new owner, as the API shows it."""

import msgspec

from ingot_contracts.identity import Team, User


class RepositoryTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """``teams`` are those of the new owner that get the repository."""

    doer: User
    recipient: User
    teams: list[Team] = []
