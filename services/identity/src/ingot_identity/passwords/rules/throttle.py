"""Slows down guessing: after some failures each further attempt must wait, with a doubling delay.

Failures are counted for the pair of name and address, for the name alone, and for the address alone. For IPv6
the network of the customer counts, because a customer has very many addresses. Names without an account count
as well: the wait must not reveal accounts. A user's login and email address are two names. If they were
counted together, the wait would reveal that both belong to one account.

An attempt counts before its password is checked. So concurrent attempts see each other, also on different
replicas: the shared values change all counters of an attempt in one step.
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
from ingot_chassis.http.concurrency import network_of
from ingot_identity.passwords.store import ExpiringValues

WINDOW = 900
"""Seconds after its last change at which a counter expires."""

LONGEST_WAIT = 60.0


class Failures(msgspec.Struct, frozen=True):
    """Consecutive failed or running attempts, and the time of the next allowed attempt."""

    count: int = 0
    next_at: float = 0.0


class _Counter(NamedTuple):
    key: str
    free: int


class _Reservation(NamedTuple):
    """The change that an attempt made to a counter."""

    counter: _Counter
    before: Failures
    after: Failures


class Attempt:
    """A sign-in with a password. It counts as failed unless ``succeeded`` is set."""

    def __init__(self) -> None:
        self.succeeded = False


class SignInThrottle:
    """Allows attempts, one at a time for a name and an address. Rejects early attempts before the check."""

    def __init__(self, values: ExpiringValues, *, free: int) -> None:
        self._values, self._free = values, free
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def attempt(self, name: str, address: str) -> AsyncIterator[Attempt]:
        """Enter this around the check of a password. Raises TooManyRequests if the attempt is too early.

        An exception inside the block means that the password was not checked. Such an attempt is not counted.
        """
        counters = self._counters(name.lower(), address)
        # Without the lock, concurrent attempts with the right password would count against each other.
        async with self._locks.setdefault(counters[0].key, asyncio.Lock()):
            reservations = await self._reserve(counters)
            attempt = Attempt()
            try:
                yield attempt
            except (Exception, asyncio.CancelledError):
                await self._return(reservations, 1)
                raise
            if attempt.succeeded:
                # The failures before it as well: who knows the password did not guess.
                await self._return(reservations, reservations[0].after.count)

    async def _reserve(self, counters: list[_Counter]) -> list[_Reservation]:
        """Count an attempt before its password is checked. Raises TooManyRequests."""
        reservations: list[_Reservation] = []

        def count(failures: list[Failures]) -> list[Failures]:
            self._refuse_early(failures)
            reservations[:] = [
                _Reservation(counter, before, _one_more(before, counter.free))
                for counter, before in zip(counters, failures, strict=True)
            ]
            return [reservation.after for reservation in reservations]

        await self._change(counters, count)
        return reservations

    async def _return(self, reservations: list[_Reservation], attempts: int) -> None:
        """Subtract ``attempts`` from each counter.

        Also end the wait of this attempt, unless a later attempt began another wait.
        """

        def subtract(failures: list[Failures]) -> list[Failures]:
            return [
                _fewer(present, attempts, reservation)
                for present, reservation in zip(failures, reservations, strict=True)
            ]

        await self._change([reservation.counter for reservation in reservations], subtract)

    async def _change(
        self, counters: Sequence[_Counter], step: Callable[[list[Failures]], list[Failures]]
    ) -> None:
        await self._values.change(
            [counter.key for counter in counters], lambda values: _encoded(step(_decoded(values)))
        )

    def _counters(self, name: str, address: str) -> list[_Counter]:
        """Return the counters of an attempt: for name and network, for the name, and for the network.

        The first counter limits typing errors of one person. The others allow ten times as many failures,
        because people share addresses. Without an address there is no counter for the network.
        """
        network = network_of(address)
        counters = [
            _Counter(_key("both", name, network), self._free),
            _Counter(_key("name", name), self._free * 10),
        ]
        return [*counters, _Counter(_key("address", network), self._free * 10)] if network else counters

    def _refuse_early(self, failures: list[Failures]) -> None:
        wait = max(each.next_at for each in failures) - time.time()
        if wait > 0:
            raise TooManyRequests(
                "too many failed sign-ins; try again later", headers={"Retry-After": str(int(wait) + 1)}
            )


def _decoded(values: list[bytes | None]) -> list[Failures]:
    return [msgspec.msgpack.decode(each, type=Failures) if each else Failures() for each in values]


def _encoded(failures: list[Failures]) -> list[bytes | None]:
    return [msgspec.msgpack.encode(each) if each.count else None for each in failures]


def _one_more(failures: Failures, free: int) -> Failures:
    count = failures.count + 1
    over = count - free
    wait = min(2.0 ** min(over, 10), LONGEST_WAIT) if over >= 0 else 0.0
    return Failures(count, time.time() + wait)


def _fewer(present: Failures, attempts: int, reservation: _Reservation) -> Failures:
    left = max(present.count - attempts, 0)
    next_at = reservation.before.next_at if present.next_at == reservation.after.next_at else present.next_at
    return Failures(left, next_at if left >= reservation.counter.free else 0.0)


def _key(*parts: str) -> str:
    """Return the digest of the parts as a key. Names come from clients and may have any length."""
    return "sign-in:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()
