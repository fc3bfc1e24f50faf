"""Conversations with git clients over HTTP or SSH. A conversation is the request and its response."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol

import structlog

from ingot_chassis.errors import BadRequest
from ingot_git.process.errors import BodyRefused, GitError
from ingot_git.process.spools import Part
from ingot_git.protocol.fetch_requests import WantRefused

log = structlog.get_logger()


class Conversation(Protocol):
    """A request of a client and its response. With ``is_session``, git sends first, as over SSH."""

    @property
    def is_session(self) -> bool: ...

    @property
    def protocol(self) -> str | None:
        """The protocol version that the client requests, in the form of ``GIT_PROTOCOL``."""

    @property
    def takes_files(self) -> bool:
        """True if a part of a response may be a range of a file, which is sent without reading it."""

    @property
    def received(self) -> int:
        """The number of bytes that the client has sent."""

    @property
    def is_started(self) -> bool:
        """True if the response has begun."""

    def body(self) -> AsyncIterator[bytes]:
        """Yield the decoded request as it arrives. Raises ClientDisconnected, BodyRefused."""

    async def disconnected(self) -> None:
        """Wait until the client has disconnected."""

    async def start(self, media_type: str) -> None:
        """Begin the response, unless it has begun."""

    async def write(self, part: Part, *, more: bool = True) -> None:
        """Send a part of the response. A part of a file is never the last one."""

    async def hand_over(self, shard: str, body: AsyncIterator[bytes]) -> None:
        """Forward the request to another shard. ``body`` starts at the beginning of the request."""


class _Answer:
    """The parts of a response. The latest part may be held back, because it may be the last one."""

    def __init__(self, conversation: Conversation, service: str, *, holds_back: bool) -> None:
        self._conversation, self._holds_back = conversation, holds_back
        self._media_type = f"application/x-{service}-result"
        self._pending: bytes | None = None

    @property
    def has_begun(self) -> bool:
        return self._conversation.is_started or self._pending is not None

    async def add(self, part: Part) -> None:
        if self._pending is None:
            await self._conversation.start(self._media_type)
        else:
            await self._conversation.write(self._pending)
        if isinstance(part, bytes) and self._holds_back:
            self._pending = part
        else:
            await self._conversation.write(part)
            self._pending = b""

    async def last(self, addition: bytes = b"") -> bytes:
        """Begin the response if necessary. Return the part that was held back, followed by ``addition``."""
        await self._conversation.start(self._media_type)
        self._pending = (self._pending or b"") + addition
        return self._pending


async def forward(
    conversation: Conversation,
    service: str,
    stream: AsyncGenerator[Part, None],
    repository_id: int,
    *,
    return_last: bool = False,
) -> bytes:
    """Forward git's response. With ``return_last``, return its last chunk and leave the response open.

    In a session no chunk is held back, because the client waits for each one. A part of a file is not held
    back either, because it is never the last part. Raises BadRequest.
    """
    answer = _Answer(conversation, service, holds_back=return_last or not conversation.is_session)
    refusal = b""
    async with contextlib.aclosing(stream):
        try:
            async for part in stream:
                await answer.add(part)
        except BodyRefused as error:
            if not answer.has_begun:
                raise BadRequest(str(error)) from error
            log.info("git request refused", repository=repository_id, error=str(error))
        except WantRefused as error:
            log.info("fetch refused", repository=repository_id, error=str(error))
            refusal = error.packet
        except GitError as error:
            log.info("git ended early", repository=repository_id, service=service, error=str(error))
    last = await answer.last(refusal)
    if not return_last:
        await conversation.write(last, more=False)
    return last
