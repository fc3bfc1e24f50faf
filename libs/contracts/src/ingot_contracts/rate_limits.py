"""Rate limits that the gateway reports to web with each request for a page."""

import msgspec

RATE_LIMITS_HEADER = "ingot-rate-limits"
"""The header with RateLimits as JSON.

Clients cannot send it, because the gateway removes headers that begin with ``ingot-``.
"""


class RateLimits(msgspec.Struct, frozen=True):
    """Points per minute for an account, for each of its tokens, and for an anonymous address; 0: unlimited.

    ``refusals`` counts rejected requests for each of the three, in the reporting process since its start.
    """

    account: int = 0
    token: int = 0
    address: int = 0
    refusals: dict[str, int] = {}
