"""One request on its way through: the limits it runs under, and what became of it.

``receive`` and ``send`` are what an upstream is given in place of the server's own. They pass messages on one
by one, so whoever is slow slows down the other side, and nothing piles up here.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Self

from litestar.types import Message, Receive, ReceiveMessage, Send

from ingot_chassis.errors import ApiError, GatewayTimeout, TooLarge
from ingot_gateway.admission import answered
from ingot_gateway.errors import ClientTooSlow

FIRST_LOOK = 0.25
LOOK = 0.5


class ClientGone(Exception):
    """The client closed its connection."""


class Bounds(NamedTuple):
    """Of a class of routes: the largest body (None: any) and the longest time in which nothing moves."""

    body: int | None
    silence: float


class Exchange:
    """Enter it around the upstream's work, in the task that does it.

    Leaving raises the ApiError that a limit stands for, or ClientGone, in place of what it led to.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        bounds: Bounds,
        *,
        has_body: bool,
        on_status: Callable[[int], None],
    ) -> None:
        self._receive, self._send, self._bounds = receive, send, bounds
        self._on_status = on_status
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._unread, self._size, self._wants_body = has_body, 0, False
        self._moved = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._failure: ApiError | ClientGone | None = None
        self._cancelled = self._finished = False
        self.started = False
        self.watches_client = False
        """Set by an upstream that does not itself listen for the client to leave."""

    async def __aenter__(self) -> Self:
        self._timer = self._loop.call_later(min(FIRST_LOOK, self._bounds.silence), self._look)
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if self._cancelled and isinstance(error, asyncio.CancelledError) and self._task is not None:
            if self._task.uncancel() > 0:
                return  # the server ends this task as well
        elif isinstance(error, asyncio.CancelledError):
            return
        if self._failure is not None and not self._finished:
            raise self._failure from error

    async def receive(self) -> ReceiveMessage:
        """The next part of the request. Raises TooLarge when the body outgrows its bound."""
        self._wants_body = self._unread
        message = await self._receive()
        self._wants_body = False
        self._moved = self._loop.time()
        if message["type"] == "http.disconnect":
            self._unread = False
            self._failure = self._failure or ClientGone()
            return message
        if message["type"] == "http.request":
            self._size += len(message["body"])
            self._unread = message["more_body"]
            if self._bounds.body is not None and self._size > self._bounds.body:
                self._failure = TooLarge()
                raise self._failure
        return message

    async def send(self, message: Message) -> None:
        """The next part of the answer, unless the request has failed already."""
        if message["type"] == "http.response.start":
            self._on_status(message["status"])
        if self._failure is not None and not self.started:
            return
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": answered(list(message["headers"]))}
        elif message["type"] == "http.response.body":
            self._finished = not message.get("more_body", False)
        await self._send(message)
        self._moved = self._loop.time()

    @property
    def body_is_read(self) -> bool:
        """Whether the client has sent all of its request."""
        return not self._unread

    def _look(self) -> None:
        silent = self._loop.time() - self._moved
        if silent >= self._bounds.silence:
            self._fail(ClientTooSlow() if self._wants_body else GatewayTimeout())
            return
        if self.watches_client and self._watcher is None and self.body_is_read:
            self._watcher = self._loop.create_task(self._watch(), name="watch the client")
        wait = self._bounds.silence - silent
        if self._watcher is None and self.watches_client:
            wait = min(wait, LOOK)
        self._timer = self._loop.call_later(wait, self._look)

    async def _watch(self) -> None:
        """Only once the body is read: there is one reader of the server's messages at a time."""
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._fail(ClientGone())

    def _fail(self, failure: ApiError | ClientGone) -> None:
        self._failure = self._failure or failure
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()
