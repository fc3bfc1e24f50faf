"""States of issues, pull requests and milestones, and the filter of lists."""

from enum import StrEnum


class State(StrEnum):
    """The column ``state``. A merged pull request is closed."""

    OPEN = "open"
    CLOSED = "closed"


class StateFilter(StrEnum):
    """The states that a list includes."""

    OPEN = "open"
    CLOSED = "closed"
    ALL = "all"
