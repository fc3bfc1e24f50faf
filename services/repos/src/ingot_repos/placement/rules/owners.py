"""The shard of a repository. Its row names the shard, and users of its files check it.

While a repository moves, its row is locked for some seconds, and changes of files wait. After the move,
requests that reached the old shard are forwarded.
"""

from collections.abc import Sequence
from datetime import timedelta

MOST_LOCKED = timedelta(seconds=30)
"""Limit of the time for which files are locked. A lock of a dead process then expires."""
LOCK_MARGIN = 5.0
"""Seconds before the end of a lock in which it is not trusted, because clocks differ."""
MOVES = "the repository moves to another shard"


class OnAnotherShard(Exception):
    """The files of the repository are on another shard, and the request is forwarded there.

    ``replicas`` are shards that can answer as well.
    """

    def __init__(self, shard: str, replicas: Sequence[str] = ()) -> None:
        super().__init__(f"on {shard}")
        self.shard, self.replicas = shard, replicas
