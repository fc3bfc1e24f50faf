"""The present time, read in one place."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present time; whole microseconds, UTC."""
    return datetime.now(UTC)
