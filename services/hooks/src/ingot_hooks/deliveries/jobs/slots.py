"""Limits of an endpoint: deliveries sent at a time, and deliveries claimed in advance.

For an endpoint that responds quickly, several deliveries per slot are claimed, so its slots never wait for a
claim. For a slow endpoint, one delivery per slot is claimed, because claimed deliveries that cannot be sent
must be released.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from ingot_hooks.deliveries.store.due import EndpointLimit

FIRST_PER_SLOT, MAX_PER_SLOT = 4, 32
"""The number of claimed deliveries for each slot: before the first response, and at most."""
PER_LANE = 16
AHEAD_SECONDS = 5.0
"""Seconds for which claimed deliveries keep the slots busy, much less than an attempt's limit to begin."""
STALL_SECONDS = 1.0
"""Seconds after which an endpoint gets no more deliveries if all its slots are taken without a change."""
WEIGHT = 0.25
"""The weight of the last attempt in the average time of an attempt."""
MAX_REMEMBERED = 5000


class EndpointSlots:
    """The slots of one endpoint in this process. A lane acquires ``free`` while it sends."""

    def __init__(self, concurrency: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.free = asyncio.Semaphore(concurrency)
        self._concurrency, self._clock = concurrency, clock
        self._seconds: float | None = None
        self._changed_at = clock()

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Measure the time of an attempt inside the block."""
        self._changed_at = started = self._clock()
        try:
            yield
        finally:
            self._changed_at = self._clock()
            seconds = self._changed_at - started
            before = seconds if self._seconds is None else self._seconds
            self._seconds = before + (seconds - before) * WEIGHT

    def limit(self) -> EndpointLimit:
        """Return the number of deliveries for ``AHEAD_SECONDS``, at least one per slot.

        Return 0 if all slots are stalled.
        """
        if self.free.locked() and self._clock() - self._changed_at > STALL_SECONDS:
            return EndpointLimit(0)
        per_slot = FIRST_PER_SLOT
        if self._seconds is not None:
            per_slot = max(1, int(min(MAX_PER_SLOT, AHEAD_SECONDS / max(self._seconds, 0.001))))
        return EndpointLimit(self._concurrency * per_slot, min(PER_LANE, per_slot))


class EndpointSlotsByName:
    """The slots of endpoints by name: of endpoints in use, and of some recently used endpoints."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._slots: WeakValueDictionary[str, EndpointSlots] = WeakValueDictionary()
        self._recent: deque[EndpointSlots] = deque(maxlen=MAX_REMEMBERED)

    def __getitem__(self, endpoint: str) -> EndpointSlots:
        slots = self._slots.get(endpoint)
        if slots is None:
            slots = self._slots[endpoint] = EndpointSlots(self._concurrency)
            self._recent.append(slots)
        return slots
