"""The user or deploy key that pushes."""

import msgspec

from ingot_repos.protection.rules.decisions import Actor


class Pusher(msgspec.Struct, frozen=True):
    """The account that events name, and the actor for the rules. ``restricted``: see ``PushReceived``.

    ``reads_pulls``: the actor may read pull requests of the repository, so they may open one by a push.
    ``maintained`` are the branches that the actor may push to without write access to the repository.
    """

    account_id: int
    actor: Actor
    restricted: bool
    reads_pulls: bool = True
    maintained: frozenset[str] = frozenset()
