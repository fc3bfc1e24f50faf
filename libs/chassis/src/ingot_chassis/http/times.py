"""Times in bodies of requests."""

from datetime import UTC, datetime

from ingot_chassis.errors import Invalid


def in_utc(time: datetime, field: str) -> datetime:
    """The same time in UTC. Raises Invalid for one that falls out of the calendar by its zone."""
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise Invalid.field(field, "range", "is out of range") from error
