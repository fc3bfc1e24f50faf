"""The current time, read in one place so tests can replace it."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time in UTC, with whole microseconds."""
    return datetime.now(UTC)
