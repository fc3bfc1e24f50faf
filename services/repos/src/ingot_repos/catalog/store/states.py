"""Values of columns that hold one of a few words, as they are stored."""

from enum import StrEnum


class RepositoryState(StrEnum):
    """``FORKING``: the commits are being copied, by a fork or an import. ``FAILED``: they could not be."""

    CREATING = "creating"
    FORKING = "forking"
    READY = "ready"
    FAILED = "failed"


class ImportState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AccountKind(StrEnum):
    USER = "user"
    ORGANIZATION = "organization"


class Visibility(StrEnum):
    """Of an account: to everybody, to users who are signed in, to itself and its members."""

    PUBLIC = "public"
    LIMITED = "limited"
    PRIVATE = "private"


class ShardState(StrEnum):
    """State of a shard.

    ``DRAINING``: its repositories move to other shards, and it gets no new ones. ``REMOVED``: it has none and
    gets none.
    """

    ACTIVE = "active"
    DRAINING = "draining"
    REMOVED = "removed"
