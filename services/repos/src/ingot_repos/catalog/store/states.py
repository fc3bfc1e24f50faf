"""Enumerations for columns, with their stored values."""

from enum import StrEnum


class RepositoryState(StrEnum):
    """State of a repository.

    ``FORKING``: a fork or an import copies the commits. ``FAILED``: the copy failed.
    """

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
    """Visibility of an account: for everyone, for users who are signed in, or for itself and its members."""

    PUBLIC = "public"
    LIMITED = "limited"
    PRIVATE = "private"


class ShardState(StrEnum):
    """The state of a shard.

    ``DRAINING``: its repositories move to other shards, and it gets no new ones. ``REMOVED``: it has no
    repositories and gets none.
    """

    ACTIVE = "active"
    DRAINING = "draining"
    REMOVED = "removed"
