"""Limits of concurrent connections and sessions: before sign-in, per address, and per key."""

from collections import Counter

from ingot_chassis.http.concurrency import network_of


class Counted:
    """A counter of concurrent uses by holder, each at most ``most``; 0 means no limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts = Counter[str]()

    def acquire(self, holder: str) -> bool:
        """Count one more use by ``holder``. Return False if the limit is reached."""
        if self._most and self._counts[holder] >= self._most:
            return False
        self._counts[holder] += 1
        return True

    def release(self, holder: str) -> None:
        """Remove one use from the count of ``holder``."""
        self._counts[holder] -= 1
        if not self._counts[holder]:
            del self._counts[holder]


class CountedAddresses(Counted):
    """A counter by address. An IPv6 address counts for the network that one customer gets."""

    def acquire(self, holder: str) -> bool:
        return super().acquire(network_of(holder))

    def release(self, holder: str) -> None:
        super().release(network_of(holder))
