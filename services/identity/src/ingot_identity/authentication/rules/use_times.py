"""Times of last use and sign-in: exact to the minute, because not every request should write."""

from datetime import datetime, timedelta

from ingot_chassis.clock import now

EXACT_TO = timedelta(minutes=1)


def is_outdated(used_at: datetime | None) -> bool:
    """True if the stored time is too old and must be written again."""
    return used_at is None or now() - used_at > EXACT_TO
