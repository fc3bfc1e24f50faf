"""A cache of granted access, with one maximum age for all grants.

Denials and *not found* are never cached, so a new right works at once. A withdrawn right ends everywhere
within ``GRANT_SECONDS``, even if no event arrives.
"""

import math
import time
from collections.abc import Callable, Hashable
from itertools import takewhile
from typing import Generic, NamedTuple, TypeVar

from cachetools import TLRUCache

GRANT_SECONDS = 5.0
MAX_GRANTS = 10_000

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class _Grant(NamedTuple, Generic[_V]):
    value: _V
    since: float
    holder: Hashable


class GrantCache(Generic[_K, _V]):
    """Grants by key. Above ``MAX_GRANTS`` the least recently used grant is evicted.

    ``clock`` returns the current time in seconds.
    """

    def __init__(
        self, seconds: float = GRANT_SECONDS, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self.clock = seconds, clock
        self._grants: TLRUCache[_K, _Grant[_V]] = TLRUCache(
            MAX_GRANTS, ttu=lambda _key, grant, _now: grant.since + seconds, timer=clock
        )
        self._revocations: dict[Hashable, float] = {}
        self._cleared_at = -math.inf

    def get(self, key: _K) -> _V | None:
        """Return the granted value, or None if it is not cached."""
        try:
            grant = self._grants[key]
        except KeyError:
            return None
        return None if self._is_revoked(grant) else grant.value

    def put(self, key: _K, value: _V, *, since: float, holder: Hashable = None) -> None:
        """Cache ``value``. ``since`` is the time at which it was requested, not the time of the response.

        ``holder`` is the owner of the grant and the key of ``drop_holder``.
        """
        grant = _Grant(value, since, holder)
        if not self._is_revoked(grant):
            self._grants[key] = grant

    def drop(self, key: _K) -> None:
        """Drop one grant."""
        self._grants.pop(key, None)

    def drop_holder(self, holder: Hashable) -> None:
        """Drop the grants of ``holder``.

        Grants that were requested before this call and arrive later are dropped, too.
        """
        now = self.clock()
        self._revocations.pop(holder, None)
        self._revocations[holder] = now
        # Revocations are in the order of their times. Every grant from before an old revocation has expired.
        for old in list(
            takewhile(lambda one: self._revocations[one] + self.seconds <= now, self._revocations)
        ):
            del self._revocations[old]

    def clear(self) -> None:
        """Drop all grants. Grants that were requested before this call and arrive later are dropped, too."""
        self._grants.clear()
        self._revocations.clear()
        self._cleared_at = self.clock()

    def _is_revoked(self, grant: _Grant[_V]) -> bool:
        revoked_at = self._revocations.get(grant.holder, self._cleared_at)
        return grant.since <= revoked_at
