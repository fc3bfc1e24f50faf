"""States of issues, pull requests and milestones, and filters by state."""

from enum import StrEnum


class State(StrEnum):
    """Values of the column ``state``. A merged pull request is closed."""

    OPEN = "open"
    CLOSED = "closed"


class StateFilter(StrEnum):
    """The states that a list includes."""

    OPEN = "open"
    CLOSED = "closed"
    ALL = "all"
