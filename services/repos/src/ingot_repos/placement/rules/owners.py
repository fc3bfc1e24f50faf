"""The shard of a repository. Its row names the shard, and callers check it before they use the files.

While a repository moves, its row is locked for some seconds, and changes of files wait. After the move,
requests that reached the old shard are forwarded.
"""

from collections.abc import Sequence
from datetime import timedelta

MOST_LOCKED = timedelta(seconds=30)
"""Maximum time for which files are locked. The lock of a dead process expires after it."""
LOCK_MARGIN = 5.0
"""Seconds before the end of a lock in which it is treated as expired, because clocks differ."""
MOVES = "the repository moves to another shard"


class OnAnotherShard(Exception):
    """The files of the repository are on another shard. The request is forwarded to it.

    ``replicas`` are shards that can answer as well.
    """

    def __init__(self, shard: str, replicas: Sequence[str] = ()) -> None:
        super().__init__(f"on {shard}")
        self.shard, self.replicas = shard, replicas
