"""A real HTTP server that replaces a user's webhook endpoint.

It records requests and sends the responses that the test sets.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

PATIENCE = 10.0


@dataclass(frozen=True)
class ReceivedRequest:
    method: str
    path: str
    """The path, including the query string."""
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    status: int = 204
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the response, for tests of time limits."""


class Receiver:
    """A server that listens on a loopback port while its context is open."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self._standing = Answer()
        self._next: deque[Answer] = deque()
        self._arrival = asyncio.Condition()
        self._runner = web.ServerRunner(web.Server(self._receive), shutdown_timeout=0.1)
        self._port = 0

    @property
    def url(self) -> str:
        """Return the URL without a path. Any path works."""
        return f"http://127.0.0.1:{self._port}"

    def answer(
        self,
        status: int,
        *,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        delay: float = 0.0,
    ) -> None:
        """Send this response to all requests from now on."""
        self._standing = Answer(status, body, headers or {}, delay)

    def answer_next(self, *answers: int | Answer) -> None:
        """Send each of these responses once, then the former response again."""
        self._next.extend(Answer(answer) if isinstance(answer, int) else answer for answer in answers)

    async def wait_for(
        self,
        count: int,
        *,
        timeout: float = PATIENCE,  # noqa: ASYNC109
    ) -> list[ReceivedRequest]:
        """Return all requests so far, as soon as there are `count` of them.

        Raises:
            TimeoutError: fewer requests arrived in time.
        """
        try:
            async with asyncio.timeout(timeout), self._arrival:
                await self._arrival.wait_for(lambda: len(self.requests) >= count)
        except TimeoutError:
            raise TimeoutError(f"{len(self.requests)} of {count} requests came in {timeout} s") from None
        return list(self.requests)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _receive(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        answer = self._next.popleft() if self._next else self._standing
        async with self._arrival:
            self.requests.append(ReceivedRequest(request.method, request.path_qs, request.headers, body))
            self._arrival.notify_all()
        if answer.delay:
            await asyncio.sleep(answer.delay)
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)
