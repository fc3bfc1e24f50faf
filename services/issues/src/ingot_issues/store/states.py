"""The states of issues, pull requests, milestones, reviews and notifications, as they are stored and filtered."""

from enum import StrEnum


class State(StrEnum):
    """The column ``state``. A merged pull request is closed."""

    OPEN = "open"
    CLOSED = "closed"


class ReviewState(StrEnum):
    """What a review says, as the API spells it. ``REQUEST_REVIEW`` is no review yet: somebody is to write one."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    COMMENT = "COMMENT"
    REQUEST_CHANGES = "REQUEST_CHANGES"
    REQUEST_REVIEW = "REQUEST_REVIEW"


class NotificationStatus(StrEnum):
    """The column ``status`` of a notification."""

    UNREAD = "unread"
    READ = "read"
    PINNED = "pinned"


class StateFilter(StrEnum):
    """The states that a list shows."""

    OPEN = "open"
    CLOSED = "closed"
    ALL = "all"
