"""Slowing guesses: after some failures each further attempt has to wait, twice as long as the one before.

Counted for a name from an address, for the name from anywhere and for the address with any name, whether or
not there is such an account, so that waiting says nothing about it. Hence a user's login and e-mail address are two
names: counted together, the one would tell by its waiting that it belongs to the other.

An attempt counts from before its password is checked, so that attempts sent at once see each other, also those that
reach different replicas: the store they share changes all counters of an attempt in one step.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from ingot_chassis.errors import TooManyRequests
from ingot_chassis.stores import Store

WINDOW = 900
"""Seconds for which the store has to keep a counter."""

LONGEST_WAIT = 60.0


class Failures(msgspec.Struct, frozen=True):
    """How many attempts failed in a row or are being checked, and when the next one is heard."""

    count: int = 0
    next_at: float = 0.0


class _Counter(NamedTuple):
    key: str
    free: int


class _Place(NamedTuple):
    """What an attempt found in a counter, and what it left there."""

    counter: _Counter
    before: Failures
    after: Failures


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
        """Around the check of a password. Raises TooManyRequests when it comes too early.

        What is raised inside means that the password was not checked, and does not count.
        """
        counters = self._counters(name.lower(), address)
        # Else right passwords that are sent at once would count against each other while they are checked.
        async with self._one_by_one.setdefault(counters[0].key, asyncio.Lock()):
            places = await self._take(counters)
            attempt = Attempt()
            try:
                yield attempt
            except (Exception, asyncio.CancelledError):
                await self._give_back(places, 1)
                raise
            if attempt.succeeded:
                # With the failures before it: whoever knows the password was no guesser.
                await self._give_back(places, places[0].after.count)

    async def _take(self, counters: list[_Counter]) -> list[_Place]:
        """Count an attempt, before it is known to fail. Raises TooManyRequests."""
        places: list[_Place] = []

        def counted(found: list[Failures]) -> list[Failures]:
            self._refuse_early(found)
            places[:] = [
                _Place(counter, before, _one_more(before, counter.free))
                for counter, before in zip(counters, found, strict=True)
            ]
            return [place.after for place in places]

        await self._change(counters, counted)
        return places

    async def _give_back(self, places: list[_Place], attempts: int) -> None:
        """Take ``attempts`` off each counter, and the wait that this one began if no other has since."""

        def taken_back(found: list[Failures]) -> list[Failures]:
            return [_fewer(present, attempts, place) for present, place in zip(found, places, strict=True)]

        await self._change([place.counter for place in places], taken_back)

    async def _change(
        self, counters: Sequence[_Counter], step: Callable[[list[Failures]], list[Failures]]
    ) -> None:
        await self._store.change(
            [counter.key for counter in counters], lambda found: _written(step(_read(found)))
        )

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


def _read(kept: list[bytes | None]) -> list[Failures]:
    return [msgspec.msgpack.decode(each, type=Failures) if each else Failures() for each in kept]


def _written(failures: list[Failures]) -> list[bytes | None]:
    return [msgspec.msgpack.encode(each) if each.count else None for each in failures]


def _one_more(failures: Failures, free: int) -> Failures:
    count = failures.count + 1
    over = count - free
    wait = min(2.0 ** min(over, 10), LONGEST_WAIT) if over >= 0 else 0.0
    return Failures(count, time.time() + wait)


def _fewer(present: Failures, attempts: int, place: _Place) -> Failures:
    left = max(present.count - attempts, 0)
    next_at = place.before.next_at if present.next_at == place.after.next_at else present.next_at
    return Failures(left, next_at if left >= place.counter.free else 0.0)


def _key(*parts: str) -> str:
    """Names come from outside, so they are of any length and never kept as they are."""
    return "sign-in:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()
