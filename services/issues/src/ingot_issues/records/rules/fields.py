"""Checks of fields that several subjects have."""

from datetime import UTC, datetime

from ingot_chassis.errors import Invalid


def clean_title(title: str) -> str:
    """Return ``title`` without leading and trailing spaces. Raises Invalid."""
    title = title.strip()
    if not title:
        raise Invalid.field("title", "required", "is required")
    return title


def due(moment: datetime | None) -> datetime | None:
    """Return ``moment`` in UTC; None for the year 1 or 9999, which some clients send for no date."""
    if moment is None or not 1 < moment.year < 9999:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
