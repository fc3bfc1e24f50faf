"""States of the checks of pull requests, for lists on pages."""

import msgspec

MOST_PULLS = 100
"""Maximum number of pull requests in a request."""


class PullCheckStates(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """POST /internal/pull-check-states: the combined states of the checks of pull requests.

    It is both request and response. ``ids`` are those of the pull requests as issues. The response has the
    ``states`` of those with checks that the caller may read, by their ids: success, pending or failure.
    """

    ids: list[int]
    states: dict[int, str] = {}
