"""How much of what costs a lot one caller may have going on at once in this process.

A route that starts git for a caller takes a place for them. It is given back when the answer has ended, however that
came about.
"""

from collections import Counter

from litestar.types import ASGIApp, Receive, Scope, Send

from ingot_chassis.errors import TooManyRequests

TAKEN = "place_taken_by"
"""Where the scope of a request says which place it holds: the ``Places`` and whose it is."""


class Places:
    """``each``: places that every caller has; 0: no limit."""

    def __init__(self, each: int) -> None:
        self._each = each
        self.taken = Counter[str]()

    def take(self, scope: Scope, caller: str) -> None:
        """Hold a place of ``caller`` until the answer has ended; one for a request. Raises TooManyRequests."""
        if not self._each or TAKEN in scope:
            return
        if self.taken[caller] >= self._each:
            raise TooManyRequests(
                f"no more than {self._each} such requests at once", headers={"Retry-After": "1"}
            )
        self.taken[caller] += 1
        scope[TAKEN] = self, caller  # type: ignore[literal-required]

    def give_back(self, caller: str) -> None:
        """Free what ``take`` held for a request of ``caller``."""
        self.taken[caller] -= 1
        if not self.taken[caller]:
            del self.taken[caller]


def giving_back(app: ASGIApp) -> ASGIApp:
    """The middleware that gives places back. A function, for the framework makes copies of objects."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            if TAKEN in scope:
                places, caller = scope.pop(TAKEN)  # type: ignore[misc]
                places.give_back(caller)

    return handle
