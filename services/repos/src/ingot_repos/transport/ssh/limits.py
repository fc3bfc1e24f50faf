"""Limits of concurrent connections and sessions: before sign-in, of one address, with one key."""

from collections import Counter

from ingot_chassis.http.concurrency import network_of


class Counted:
    """Counts what each holder has at once, at most ``most``; 0: any number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts = Counter[str]()

    def acquire(self, holder: str) -> bool:
        """Count one more for ``holder``; False when that would be too many."""
        if self._most and self._counts[holder] >= self._most:
            return False
        self._counts[holder] += 1
        return True

    def release(self, holder: str) -> None:
        """Count one less for ``holder``."""
        self._counts[holder] -= 1
        if not self._counts[holder]:
            del self._counts[holder]


class CountedAddresses(Counted):
    """The same by address; of IPv6 by the network that one customer gets."""

    def acquire(self, holder: str) -> bool:
        return super().acquire(network_of(holder))

    def release(self, holder: str) -> None:
        super().release(network_of(holder))
