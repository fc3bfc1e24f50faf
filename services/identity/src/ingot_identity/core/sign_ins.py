"""Slowing guesses: after some failures each further attempt has to wait, twice as long as the one before.

Counted for a name from an address, for the name from anywhere and for the address with any name, whether or
not there is such an account, so that waiting says nothing about it. Kept in the store that replicas share.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol
from weakref import WeakValueDictionary

import msgspec

from ingot_chassis.errors import TooManyRequests

WINDOW = 900
LONGEST_WAIT = 60.0


class Store(Protocol):
    """What is needed of the shared store."""

    async def get(self, key: str) -> bytes | None: ...

    async def set(self, key: str, value: str | bytes, expires_in: int) -> None: ...

    async def delete(self, key: str) -> None: ...


class Failures(msgspec.Struct, frozen=True):
    """How many attempts failed in a row, and when the next one is heard."""

    count: int = 0
    next_at: float = 0.0


class _Counter(NamedTuple):
    key: str
    free: int


class Attempt:
    """One sign-in by password. It counts as failed unless ``succeeded`` is set."""

    def __init__(self) -> None:
        self.succeeded = False


class SignIns:
    """Lets attempts through, one at a time for a name and an address, or refuses them unseen."""

    def __init__(self, store: Store, *, free: int) -> None:
        self._store, self._free = store, free
        self._one_by_one: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def attempt(self, name: str, address: str) -> AsyncIterator[Attempt]:
        """Around the check of a password. Raises TooManyRequests when it comes too early."""
        counters = self._counters(name.lower(), address)
        # Else a burst would be over before its first failure is counted.
        async with self._one_by_one.setdefault(counters[0].key, asyncio.Lock()):
            before = [await self._read(counter) for counter in counters]
            self._refuse_early(before)
            attempt = Attempt()
            yield attempt
            if attempt.succeeded:
                await self._store.delete(counters[0].key)
                return
            for counter, failures in zip(counters, before, strict=True):
                await self._count(counter, failures)

    def _counters(self, name: str, address: str) -> list[_Counter]:
        """The first is for those who mistype; the others leave room for many people behind one address."""
        counters = [
            _Counter(_key("both", name, address), self._free),
            _Counter(_key("name", name), self._free * 10),
        ]
        return [*counters, _Counter(_key("address", address), self._free * 10)] if address else counters

    def _refuse_early(self, failures: list[Failures]) -> None:
        wait = max(each.next_at for each in failures) - time.time()
        if wait > 0:
            raise TooManyRequests(
                "too many failed sign-ins; try again later", headers={"Retry-After": str(int(wait) + 1)}
            )

    async def _read(self, counter: _Counter) -> Failures:
        kept = await self._store.get(counter.key)
        return msgspec.msgpack.decode(kept, type=Failures) if kept else Failures()

    async def _count(self, counter: _Counter, before: Failures) -> None:
        count = before.count + 1
        over = count - counter.free
        wait = min(2.0 ** min(over, 10), LONGEST_WAIT) if over >= 0 else 0.0
        failures = Failures(count, time.time() + wait)
        await self._store.set(counter.key, msgspec.msgpack.encode(failures), expires_in=WINDOW)


def _key(*parts: str) -> str:
    """Names come from outside, so they are of any length and never kept as they are."""
    return "sign-in:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()
