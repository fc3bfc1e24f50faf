"""The speed of an import, and an estimate of the time that it still needs."""

from datetime import datetime

import msgspec

from ingot_chassis.clock import now
from ingot_repos.imports.store import SourceRow, counts_of


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """The speed of an import. ``rate`` is in objects per minute since reading began or continued.

    A value that is not known is None. ``remaining_seconds`` is also None after the end of the import.
    """

    rate: int | None = None
    remaining_seconds: int | None = None


def speed_of(source: SourceRow, finished_at: datetime | None) -> Speed:
    """Return the speed until now, or until the end of the import."""
    if source.reading_since is None:
        return Speed()
    counts = counts_of(source).values()
    read = sum(count.done for count in counts) - source.done_before
    seconds = ((finished_at or now()) - source.reading_since).total_seconds()
    if read <= 0 or seconds <= 0:
        return Speed()
    rate = round(read * 60 / seconds)
    if finished_at is not None or any(count.total is None for count in counts):
        return Speed(rate=rate)
    left = sum(max((count.total or 0) - count.done, 0) for count in counts)
    return Speed(rate=rate, remaining_seconds=round(left * seconds / read))
