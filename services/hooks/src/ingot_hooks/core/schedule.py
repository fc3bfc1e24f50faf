"""When a delivery is tried again, and when that ends: the schedule of Standard Webhooks."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal

import msgspec

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
"""Before each attempt; there are as many attempts as pauses."""

JITTER = 0.1
LONGEST_WAIT = timedelta(hours=24)
GONE = 410


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from an attempt. ``again_at`` belongs to pending; ``gone``: the endpoint wants no more."""

    state: Literal["delivered", "pending", "failed"]
    again_at: datetime | None = None
    gone: bool = False


def judge(status: int, retry_after: str, *, attempts: int, at: datetime, jitter: float) -> Verdict:
    """What follows from attempt number ``attempts`` that was answered with ``status`` (0: not at all).

    ``jitter``, from -1 to 1, moves the next attempt by up to a tenth of the pause.
    """
    if 200 <= status < 300:
        return Verdict(state="delivered")
    if status == GONE:
        return Verdict(state="failed", gone=True)
    if attempts >= len(PAUSES):
        return Verdict(state="failed")
    pause = PAUSES[attempts] * (1 + JITTER * jitter)
    return Verdict(state="pending", again_at=at + max(pause, asked_pause(retry_after, at)))


def asked_pause(retry_after: str, at: datetime) -> timedelta:
    """What a ``Retry-After`` header (RFC 9110: seconds or a date) asks for, within a day; else nothing."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = int(text[:9])
        return min(timedelta(seconds=seconds), LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return timedelta(0)
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return min(max(until - at, timedelta(0)), LONGEST_WAIT)
