"""Events that wait behind one of their key that could not be applied.

Their messages stay unacknowledged, and this process tells JetStream that it is still at work on them. Were they
handed back instead, each would be redelivered by a timer of its own, and later ones could come first.
"""

import time
from collections import deque
from typing import NamedTuple

from nats.aio.msg import Msg

from ingot_chassis.events.envelope import Envelope

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
LONGEST_PAUSE_AWAY = 2.0
"""While the database is away: what waits goes on soon after it is back."""


class Delivery(NamedTuple):
    """An event, and the message that brought it."""

    message: Msg
    envelope: Envelope


class _Queue:
    """The events of one key, in order; the first one failed ``failures`` times and is due again at ``due``.

    ``pauses`` also counts the tries that failed for another reason than the event.
    """

    def __init__(self) -> None:
        self.deliveries: deque[Delivery] = deque()
        self.failures, self.pauses, self.due = 0, 0, 0.0


class Backlog:
    """One queue for each key whose first event failed. Times are monotonic."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}
        self._extended_at = float("-inf")

    def __bool__(self) -> bool:
        return bool(self._queues)

    def __contains__(self, key: str) -> bool:
        return key in self._queues

    def append(self, delivery: Delivery) -> None:
        """Let it wait for the earlier events of its key, or begin their queue."""
        self._queues.setdefault(delivery.envelope.key, _Queue()).deliveries.append(delivery)

    def due_keys(self) -> list[str]:
        """Keys whose first event is to be tried again now."""
        present = time.monotonic()
        return [key for key, queue in self._queues.items() if queue.due <= present]

    def first(self, key: str) -> Delivery | None:
        """The event of ``key`` that comes next, or None when none waits."""
        queue = self._queues.get(key)
        return queue.deliveries[0] if queue else None

    def failures(self, key: str) -> int:
        """How often the first event of ``key`` has failed."""
        return self._queues[key].failures

    def remove_first(self, key: str) -> None:
        """The first event is done with; the next one is tried at once."""
        queue = self._queues[key]
        queue.deliveries.popleft()
        queue.failures, queue.pauses, queue.due = 0, 0, 0.0
        if not queue.deliveries:
            del self._queues[key]

    def postpone(self, key: str, *, counts: bool) -> None:
        """The first event failed again: try it after a pause that doubles, up to 10 s.

        Not ``counts``: what failed was not the event, so it does not come nearer to being given up.
        """
        queue = self._queues[key]
        queue.failures += counts
        pause = min(
            FIRST_PAUSE * 2.0 ** min(queue.pauses, 20), LONGEST_PAUSE if counts else LONGEST_PAUSE_AWAY
        )
        queue.pauses += 1
        queue.due = time.monotonic() + pause

    def seconds_until_due(self) -> float:
        """How long until one is to be tried again; not negative."""
        return max(min(queue.due for queue in self._queues.values()) - time.monotonic(), 0.0)

    async def extend(self, every: float) -> None:
        """Tell JetStream, each ``every`` seconds, that all of them are still worked on."""
        if time.monotonic() - self._extended_at < every:
            return
        self._extended_at = time.monotonic()
        for queue in self._queues.values():
            for delivery in queue.deliveries:
                await delivery.message.in_progress()

    def clear(self) -> None:
        """Forget all; JetStream delivers them again to whoever consumes then."""
        self._queues.clear()
