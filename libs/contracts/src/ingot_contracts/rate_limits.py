"""Limits of requests, as the gateway tells them to the service of pages with each request for a page."""

import msgspec

RATE_LIMITS_HEADER = "ingot-rate-limits"
"""Holds RateLimits as JSON. No client can send it: the gateway removes what begins with ``ingot-``."""


class RateLimits(msgspec.Struct, frozen=True):
    """Points in a minute for an account, for each of its tokens, and for an address of nobody; 0: any number.

    ``refusals`` are requests that were refused for each of these, by the process that tells it, since it started.
    """

    account: int = 0
    token: int = 0
    address: int = 0
    refusals: dict[str, int] = {}
