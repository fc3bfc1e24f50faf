"""On which shard a repository is: its row says so, and whoever uses its files asks there.

While a repository moves, its row is locked for some seconds, in which what changes files waits. Afterwards it is on
another shard, and a request that came for the old one goes there.
"""

from collections.abc import Sequence
from datetime import timedelta

MOST_LOCKED = timedelta(seconds=30)
"""How long the files of a repository are kept from changing at most. A lock that nobody ends is over by then."""
LOCK_MARGIN = 5.0
"""Seconds before its end in which nobody relies on a lock: clocks differ."""
MOVES = "the repository moves to another shard"


class OnAnotherShard(Exception):
    """The files of the repository are on another shard; a request is forwarded to it.

    ``replicas`` are shards that can answer as well.
    """

    def __init__(self, shard: str, replicas: Sequence[str] = ()) -> None:
        super().__init__(f"on {shard}")
        self.shard, self.replicas = shard, replicas
