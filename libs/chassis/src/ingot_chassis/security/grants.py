"""The one place that says for how long an access that was granted may be remembered.

A refusal and a *not found* are never remembered, so that a right that was just given works at once. A right that was
taken away ends everywhere within ``GRANT_SECONDS``, also when no event arrives.
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
    """Grants by key. Of more than ``MAX_GRANTS`` the least recently used is dropped. Times are those of ``clock``."""

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
        """The value that was granted, or None if nothing is remembered."""
        try:
            grant = self._grants[key]
        except KeyError:
            return None
        return None if self._is_revoked(grant) else grant.value

    def put(self, key: _K, value: _V, *, since: float, holder: Hashable = None) -> None:
        """Remember ``value``, which is counted from ``since``: the time of the question, not of the answer.

        ``holder`` is whose grant it is, for ``drop_holder``.
        """
        grant = _Grant(value, since, holder)
        if not self._is_revoked(grant):
            self._grants[key] = grant

    def drop(self, key: _K) -> None:
        """Forget one."""
        self._grants.pop(key, None)

    def drop_holder(self, holder: Hashable) -> None:
        """Forget the grants of ``holder``, also those that were asked for before this call and arrive after it."""
        now = self.clock()
        self._revocations.pop(holder, None)
        self._revocations[holder] = now
        # Revocations are in the order of their times. Every grant from before an old revocation has ended.
        for old in list(
            takewhile(lambda one: self._revocations[one] + self.seconds <= now, self._revocations)
        ):
            del self._revocations[old]

    def clear(self) -> None:
        """Forget all, also those that were asked for before this call and arrive after it."""
        self._grants.clear()
        self._revocations.clear()
        self._cleared_at = self.clock()

    def _is_revoked(self, grant: _Grant[_V]) -> bool:
        revoked_at = self._revocations.get(grant.holder, self._cleared_at)
        return grant.since <= revoked_at
