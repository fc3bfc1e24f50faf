"""Events that wait for a failed event with the same key.

Their messages stay unacknowledged, and this process reports to JetStream that they are in progress. If they
were returned, JetStream would redeliver each by its own timer, possibly out of order.
"""

import time
from collections import deque
from typing import NamedTuple

from nats.aio.msg import Msg

from ingot_chassis.events.envelope import Envelope

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
LONGEST_PAUSE_AWAY = 2.0
"""Longest pause in seconds between retries while the database is unavailable, so events continue soon."""


class Delivery(NamedTuple):
    """An event with its message."""

    message: Msg
    envelope: Envelope


class _Queue:
    """The events of one key, in order. The first has failed ``failures`` times and is retried at ``due``.

    ``pauses`` also counts failures that the event did not cause.
    """

    def __init__(self) -> None:
        self.deliveries: deque[Delivery] = deque()
        self.failures, self.pauses, self.due = 0, 0, 0.0


class Backlog:
    """Queues of events, one per key whose first event failed. Times are monotonic."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}
        self._extended_at = float("-inf")

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __contains__(self, key: str) -> bool:
        return key in self._queues

    def append(self, delivery: Delivery) -> None:
        """Append the event to the queue of its key, or start a queue."""
        self._queues.setdefault(delivery.envelope.key, _Queue()).deliveries.append(delivery)

    def due_keys(self) -> list[str]:
        """Return the keys whose first event is due for a retry."""
        present = time.monotonic()
        return [key for key, queue in self._queues.items() if queue.due <= present]

    def first(self, key: str) -> Delivery | None:
        """Return the next event of ``key``, or None."""
        queue = self._queues.get(key)
        return queue.deliveries[0] if queue else None

    def failures(self, key: str) -> int:
        """Return the number of failures of the first event of ``key``."""
        return self._queues[key].failures

    def remove_first(self, key: str) -> None:
        """Remove the first event, which was handled. The next event is due at once."""
        queue = self._queues[key]
        queue.deliveries.popleft()
        queue.failures, queue.pauses, queue.due = 0, 0, 0.0
        if not queue.deliveries:
            del self._queues[key]

    def postpone(self, key: str, *, counts: bool) -> None:
        """Retry the failed first event after a pause that doubles, up to 10 s.

        ``counts`` False: the event did not cause the failure. The pause is then at most 2 s, and the failure
        does not count towards dead-lettering the event.
        """
        queue = self._queues[key]
        queue.failures += counts
        pause = min(
            FIRST_PAUSE * 2.0 ** min(queue.pauses, 20), LONGEST_PAUSE if counts else LONGEST_PAUSE_AWAY
        )
        queue.pauses += 1
        queue.due = time.monotonic() + pause

    def seconds_until_due(self) -> float:
        """Return the seconds until the next retry, at least 0."""
        return max(min(queue.due for queue in self._queues.values()) - time.monotonic(), 0.0)

    async def extend(self, every: float) -> None:
        """Report all events as in progress to JetStream every ``every`` seconds."""
        if time.monotonic() - self._extended_at < every:
            return
        self._extended_at = time.monotonic()
        for queue in self._queues.values():
            for delivery in queue.deliveries:
                await delivery.message.in_progress()

    def clear(self) -> None:
        """Drop all queues. JetStream redelivers the events to the next consumer."""
        self._queues.clear()
