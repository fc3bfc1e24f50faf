"""A proxied request and its response: enforces the limits of its route and detects how it ends.

An upstream gets ``receive`` and ``send`` of the exchange instead of the server's functions. They forward
messages one by one without a buffer, so a slow side slows down the other side.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Self

from litestar.types import Message, Receive, ReceiveMessage, Send

from ingot_chassis.errors import ApiError, TooLarge
from ingot_gateway.errors import ClientTooSlow, GatewayTimeout
from ingot_gateway.headers import response_headers

FIRST_CHECK_SECONDS = 0.25
LEAST_BYTES = 16 * 1024
"""Minimum bytes that a client must transfer in its time: a byte per minute must not hold a slot."""
CHECK_SECONDS = 0.5


class ClientDisconnected(Exception):
    """The client has closed its connection."""


class RouteLimits(NamedTuple):
    """Limits of a class of routes. ``body`` is the largest body in bytes; None for any size.

    ``silence`` is the longest time without a message. ``client`` is the total time in which the client must
    send ``LEAST_BYTES`` or receive a part of the response. Time of the service does not count. Both times are
    in seconds.
    """

    body: int | None
    silence: float
    client: float


class ProxiedExchange:
    """A context manager around the work of the upstream, in the same task.

    Leaving the context raises the ApiError of an exceeded limit, or ClientDisconnected. These errors replace
    any error of the upstream.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        limits: RouteLimits,
        *,
        has_body: bool,
        on_status: Callable[[int], None],
    ) -> None:
        self._receive, self._send, self._limits = receive, send, limits
        self._on_status = on_status
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._unread, self._size, self._waits_for_body = has_body, 0, False
        self._last_message_at = self._loop.time()
        self._waited, self._heard = 0.0, 0
        self._waits_since: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._failure: ApiError | ClientDisconnected | None = None
        self._cancelled = self._finished = False
        self.started = False
        self.watches_client = False
        """True if the upstream cannot detect that the client disconnects, so the gateway has to."""

    async def __aenter__(self) -> Self:
        self._timer = self._loop.call_later(min(FIRST_CHECK_SECONDS, self._limits.silence), self._check)
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if self._cancelled and isinstance(error, asyncio.CancelledError) and self._task is not None:
            if self._task.uncancel() > 0:
                return  # the server cancels this task as well
        elif isinstance(error, asyncio.CancelledError):
            return
        if self._failure is not None and not self._finished:
            raise self._failure from error

    async def receive(self) -> ReceiveMessage:
        """Return the next part of the request. Raises TooLarge if the body exceeds its limit."""
        self._waits_for_body = self._unread
        if self._unread:
            self._waits_since["body"] = self._loop.time()
        message = await self._receive()
        self._waits_for_body = False
        self._last_message_at = self._loop.time()
        self._end_wait("body", len(message["body"]) if message["type"] == "http.request" else 0)
        if message["type"] == "http.disconnect":
            self._unread = False
            self._failure = self._failure or ClientDisconnected()
            return message
        if message["type"] == "http.request":
            self._size += len(message["body"])
            self._unread = message["more_body"]
            if self._limits.body is not None and self._size > self._limits.body:
                self._failure = TooLarge()
                raise self._failure
        return message

    async def send(self, message: Message) -> None:
        """Send the next part of the response.

        A message is ignored if the request failed before the response began.
        """
        if message["type"] == "http.response.start":
            self._on_status(message["status"])
        if self._failure is not None and not self.started:
            return
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": response_headers(list(message["headers"]))}
        elif message["type"] == "http.response.body":
            self._finished = not message.get("more_body", False)
        self._waits_since["answer"] = self._loop.time()
        await self._send(message)
        self._last_message_at = self._loop.time()
        self._end_wait("answer", LEAST_BYTES)

    @property
    def body_is_read(self) -> bool:
        """True if the client has sent its whole request."""
        return not self._unread

    def _end_wait(self, side: str, size: int) -> None:
        """End a wait for the client, and add its duration to the time of the client.

        ``size`` is the number of bytes that the client has sent, or ``LEAST_BYTES`` for a received part.
        """
        now = self._loop.time()
        self._waited += now - self._waits_since.pop(side, now)
        self._heard += size
        if self._heard >= LEAST_BYTES:
            self._waited, self._heard = 0.0, 0

    def _check(self) -> None:
        now = self._loop.time()
        waited = self._waited + sum(now - since for since in self._waits_since.values())
        if waited >= self._limits.client:
            self._fail(ClientTooSlow())
            return
        silent = now - self._last_message_at
        if silent >= self._limits.silence:
            self._fail(ClientTooSlow() if self._waits_for_body else GatewayTimeout())
            return
        if self.watches_client and self._watcher is None and self.body_is_read:
            self._watcher = self._loop.create_task(self._watch_client(), name="watch the client")
        wait = min(self._limits.silence - silent, max(self._limits.client - waited, FIRST_CHECK_SECONDS))
        if self._watcher is None and self.watches_client:
            wait = min(wait, CHECK_SECONDS)
        self._timer = self._loop.call_later(wait, self._check)

    async def _watch_client(self) -> None:
        """Wait until the client disconnects, then end the request.

        This starts after the body was read, because only one task may read messages at a time.
        """
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._fail(ClientDisconnected())

    def _fail(self, failure: ApiError | ClientDisconnected) -> None:
        self._failure = self._failure or failure
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()
