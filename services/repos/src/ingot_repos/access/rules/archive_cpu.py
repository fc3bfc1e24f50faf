"""Limits on the CPU time of git for archives: a budget for each caller, and a cache of refused archives."""

import math
import time
from collections.abc import Callable, Hashable

from cachetools import TTLCache

from ingot_chassis.errors import TooManyRequests
from ingot_git.process.errors import GitTooExpensive

WINDOW = 60.0
"""Seconds in which the budget of a caller is restored."""
BUDGET = 30.0
"""CPU seconds per caller and window. The last archive may exceed them; the next ones then wait longer."""
REFUSED_SECONDS = 600.0
"""Time after which git tries an archive again that was too expensive."""
_MOST_CALLERS = 10_000
_MOST_REFUSED = 10_000


class ArchiveCpu:
    """The CPU budgets of callers and the refused archives in this process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._restored_at: dict[str, float] = {}
        self._refused: TTLCache[Hashable, bool] = TTLCache(_MOST_REFUSED, REFUSED_SECONDS, timer=clock)

    def require(self, caller: str, archive: Hashable) -> None:
        """Check that git may create an archive for ``caller``.

        Raises GitTooExpensive if the archive was refused in the last 10 minutes. Raises TooManyRequests
        without budget.
        """
        if archive in self._refused:
            raise GitTooExpensive
        wait = self._restored_at.get(caller, 0.0) - self._clock() - WINDOW
        if wait >= 0:
            raise TooManyRequests(
                "your archives used too much CPU time; try again later",
                headers={"Retry-After": str(math.floor(wait) + 1)},
            )

    def charge(self, caller: str, seconds: float) -> None:
        """Subtract CPU seconds from the budget of ``caller``."""
        now = self._clock()
        if len(self._restored_at) >= _MOST_CALLERS:
            self._restored_at = {key: at for key, at in self._restored_at.items() if at > now}
        self._restored_at[caller] = max(self._restored_at.get(caller, 0.0), now) + seconds * WINDOW / BUDGET

    def refuse(self, archive: Hashable) -> None:
        """Refuse an archive for 10 minutes. ``archive`` identifies its content, not a branch."""
        self._refused[archive] = True
