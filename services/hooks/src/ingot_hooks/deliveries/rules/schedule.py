"""The schedule of attempts of a delivery, as Standard Webhooks recommends."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import msgspec

from ingot_hooks.deliveries.store.tables import DeliveryState

PAUSES = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""The pause before each attempt. There are as many attempts as pauses."""

JITTER = 0.1
MAX_RETRY_AFTER = timedelta(hours=24)
ENDPOINT_REMOVED = 410


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an attempt. ``next_attempt_at`` is None unless the delivery stays pending.

    ``endpoint_removed``: the endpoint rejects all further deliveries.
    """

    state: DeliveryState
    next_attempt_at: datetime | None = None
    endpoint_removed: bool = False


def attempt_result(
    status: int, retry_after: str, *, attempts: int, at: datetime, jitter: float
) -> AttemptResult:
    """Return the result of attempt number ``attempts`` with the response ``status``; 0 means no response.

    ``jitter``, from -1 to 1, shifts the next attempt by up to a tenth of the pause.
    """
    if 200 <= status < 300:
        return AttemptResult(state=DeliveryState.DELIVERED)
    if status == ENDPOINT_REMOVED:
        return AttemptResult(state=DeliveryState.FAILED, endpoint_removed=True)
    if attempts >= len(PAUSES):
        return AttemptResult(state=DeliveryState.FAILED)
    pause = PAUSES[attempts] * (1 + JITTER * jitter)
    next_attempt_at = at + max(pause, retry_after_pause(retry_after, at))
    return AttemptResult(state=DeliveryState.PENDING, next_attempt_at=next_attempt_at)


def retry_after_pause(retry_after: str, at: datetime) -> timedelta:
    """Return the pause of a ``Retry-After`` header (RFC 9110: seconds or a date), 0 to 24 hours."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = int(text[:9])
        return min(timedelta(seconds=seconds), MAX_RETRY_AFTER)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return timedelta(0)
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return min(max(until - at, timedelta(0)), MAX_RETRY_AFTER)
