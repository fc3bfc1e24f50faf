"""Limits expensive requests that each caller may run in parallel in this process."""

import asyncio
import ipaddress
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from ingot_chassis.errors import TooManyRequests
from ingot_chassis.security.principal import Principal
from ingot_chassis.telemetry import client_address

IPV6_NETWORK = 64


def network_of(address: str) -> str:
    """Return the address or, for IPv6, the network of one customer (/64).

    An IPv4 address that is mapped to IPv6 becomes plain IPv4. Other texts are returned unchanged.
    """
    if ":" not in address:
        return address
    try:
        plain = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(plain.ipv4_mapped or ipaddress.ip_network((plain, IPV6_NETWORK), strict=False))


def caller_of(principal: Principal) -> str:
    """Return the key by which requests of a caller are counted: the account, or the network if anonymous."""
    return f"user {principal.id}" if principal.signed_in else network_of(client_address())


class ConcurrencyLimiter:
    """Limits parallel requests to ``per_caller`` slots for each caller; 0 means no limit."""

    def __init__(self, per_caller: int) -> None:
        self._per_caller = per_caller
        self.acquired = Counter[str]()

    def acquire(self, caller: str) -> None:
        """Acquire a slot for ``caller`` until ``release`` is called. Raises TooManyRequests."""
        if self._per_caller and self.acquired[caller] >= self._per_caller:
            raise TooManyRequests(
                f"no more than {self._per_caller} such requests at once", headers={"Retry-After": "1"}
            )
        self.acquired[caller] += 1

    def release(self, caller: str) -> None:
        """Release a slot of ``caller``."""
        self.acquired[caller] -= 1
        if not self.acquired[caller]:
            del self.acquired[caller]

    @contextmanager
    def slot(self, caller: str) -> Iterator[None]:
        """Hold a slot for ``caller`` inside the block. Raises TooManyRequests."""
        self.acquire(caller)
        try:
            yield
        finally:
            self.release(caller)


class ConcurrencyQueue:
    """A queue: ``at_once`` slots per caller, and up to ``waiting`` requests of the same caller that wait."""

    def __init__(self, at_once: int, *, waiting: int) -> None:
        self._at_once = at_once
        self._limiter = ConcurrencyLimiter(at_once + waiting)
        self._turns = WeakValueDictionary[str, asyncio.Semaphore]()

    @asynccontextmanager
    async def slot(self, caller: str) -> AsyncIterator[None]:
        """Hold a slot for ``caller`` inside the block. Waiting calls keep their order.

        Raises TooManyRequests.
        """
        with self._limiter.slot(caller):
            turns = self._turns.setdefault(caller, asyncio.Semaphore(self._at_once))
            async with turns:
                yield
