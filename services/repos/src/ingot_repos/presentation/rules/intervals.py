"""The interval between two syncs of a mirror as text (`8h0m0s`), and the pause after a failure."""

import re
from datetime import timedelta

from ingot_chassis.errors import Invalid

FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=10), timedelta(days=1)
LONGEST_INTERVAL = timedelta(days=365)
_PARTS = re.compile(r"(?:(\d{1,5})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?")


def read_interval(text: str, *, least: int, field: str = "mirror_interval") -> int:
    """Parse an interval into seconds. "0" and "0s" mean no scheduled syncs.

    Raises Invalid, also for less than ``least`` seconds or more than a year.
    """
    if text.strip() == "0":
        return 0
    match = _PARTS.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise Invalid.field(field, "format", "is not an interval such as 8h0m0s")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = hours * 3600 + minutes * 60 + seconds
    if total and not least <= total <= LONGEST_INTERVAL.total_seconds():
        raise Invalid.field(field, "range", f"is not between {write_interval(least)} and a year")
    return total


def write_interval(seconds: int) -> str:
    return f"{seconds // 3600}h{seconds % 3600 // 60}m{seconds % 60}s"


def pause_after(failures: int, interval: int) -> timedelta:
    """Return the pause after this number of consecutive failures.

    It is 10 minutes after the first failure, and then doubles. The most is a day or ``interval`` seconds,
    whichever is longer.
    """
    most = max(LONGEST_PAUSE, timedelta(seconds=interval))
    return min(FIRST_PAUSE * (1 << min(failures - 1, 20)), most)
