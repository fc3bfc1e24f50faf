"""Times in bodies of requests."""

from datetime import UTC, datetime

from ingot_chassis.errors import Invalid


def in_utc(time: datetime, field: str) -> datetime:
    """Convert the time to UTC. Raises Invalid if the result is outside the calendar."""
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise Invalid.field(field, "range", "is out of range") from error
