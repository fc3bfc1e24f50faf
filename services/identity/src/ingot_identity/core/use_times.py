"""When a token was used last, or somebody signed in: exact to the minute, so that not every request writes."""

from datetime import datetime, timedelta

from ingot_chassis.clock import now

EXACT_TO = timedelta(minutes=1)


def is_outdated(used_at: datetime | None) -> bool:
    """Whether to write the time anew."""
    return used_at is None or now() - used_at > EXACT_TO
