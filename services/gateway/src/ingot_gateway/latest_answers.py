"""The latest response of each service to one request."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import structlog

from ingot_chassis.errors import ApiError

log = structlog.get_logger()

SERVICES = ("identity", "repos", "issues", "hooks", "mail")
RETRY_SECONDS = 5.0

Answer = TypeVar("Answer")


class LatestAnswers(Generic[Answer]):
    """Caches the latest responses of the services.

    If a service fails, its last response is kept and ``complaint`` is logged.
    """

    def __init__(
        self, question: Callable[[str], Awaitable[Answer]], seconds: float, *, complaint: str
    ) -> None:
        self._question, self._seconds, self._complaint = question, seconds, complaint
        self._answers: dict[str, Answer] = {}

    async def ask(self) -> tuple[dict[str, Answer], float]:
        """Return the responses by service, and their lifetime in seconds.

        A service that never responded is missing. The lifetime is at most ``RETRY_SECONDS`` if a service does
        not respond.
        """
        complete = all(await asyncio.gather(*map(self._ask, SERVICES)))
        answers = {name: self._answers[name] for name in SERVICES if name in self._answers}
        return answers, self._seconds if complete else min(self._seconds, RETRY_SECONDS)

    async def _ask(self, service: str) -> bool:
        """Request and cache the response of a service. Return True if the service responded."""
        try:
            self._answers[service] = await self._question(service)
        except ApiError as error:
            log.warning(self._complaint, of=service, error=error.message)
            return False
        return True
