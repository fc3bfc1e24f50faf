"""A fetch over HTTP or SSH, streamed in both directions. Access is checked repeatedly while it runs."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial

import structlog

from ingot_chassis.errors import ApiError, Unavailable
from ingot_git.process.errors import GitError
from ingot_git.process.spools import Part
from ingot_git.protocol.fetch_requests import ENDS_OF_HAVES, RequestReader
from ingot_git.protocol.smart_http import FLUSH, pkt_line
from ingot_repos.access.rules import read_rights
from ingot_repos.access.rules.read_rights import RenewReader
from ingot_repos.pushes.rules.conversations import Conversation, forward
from ingot_repos.transport.rules.shared_fetches import SERVICE, FetchedRepository, body_of

log = structlog.get_logger()

MOST_REQUESTS = 1000
"""Limit of requests in one session. A client that knows what it wants needs a few."""


class FetchSession:
    """A fetch of one client. ``renew`` raises when the client may no longer read the repository."""

    def __init__(self, fetched: FetchedRepository, renew: RenewReader, client: Conversation) -> None:
        self._fetched, self._renew, self._client = fetched, renew, client

    async def run(self) -> None:
        """Stream a pack. Stop git when the client disconnects or may no longer fetch. Raises ApiError."""
        parts, fetched = self._fetched.parts, self._fetched
        # In a session of protocol 0 git runs, and has a slot, before the client sends anything. So it must
        # not wait for a slot of long requests, which wait for slots of git.
        git_speaks_first = self._client.is_session and not fetched.is_v2
        long_slot = partial(
            parts.long_requests.slot,
            fetched.repository.id,
            signed_in=fetched.signed_in,
            waits=not git_speaks_first,
        )
        reader = RequestReader(self._client.body(), long_slot)
        if not self._client.is_session:
            stream = fetched.answer_to_body(reader, takes_files=self._client.takes_files)
        elif not git_speaks_first:
            stream = _with_refusal(self._answers(reader))
        else:
            git = fetched.serve(self._body(reader), is_session=True)
            stream = _with_refusal(fetched.within_limits(git))
        try:
            await self._forward(stream)
        finally:
            await reader.close()

    async def send_bundle(self, commit: str) -> None:
        """Stream the bundle of a commit. The stream ends early when the client loses its access.

        Raises ApiError.
        """
        await self._forward(self._bundle(commit))

    async def _forward(self, stream: AsyncGenerator[Part, None]) -> None:
        id_ = self._fetched.repository.id
        self._fetched.parts.loads.count(id_)
        await answer(self._client, SERVICE, stream, id_, self._renew)

    async def _bundle(self, commit: str) -> AsyncGenerator[Part, None]:
        """Yield the bundle.

        An error of git aborts the response, so an incomplete bundle is not taken as complete.
        """
        parts = self._fetched.bundle(commit, takes_files=self._client.takes_files)
        try:
            async with contextlib.aclosing(parts):
                async for part in parts:
                    await self._client.start("application/octet-stream")
                    yield part
        except GitError as error:
            raise Unavailable("the bundle could not be made") from error

    async def _body(self, reader: RequestReader) -> AsyncIterator[bytes]:
        """Yield the input of git in a session of protocol 0.

        In the first `MOST_REQUESTS` requests, the objects that the client names are checked. From later
        requests, the objects that the client has are removed.
        """
        one, count = await reader.next(), 1
        while one is not None:
            if count <= MOST_REQUESTS:
                body = self._fetched.visible_body(one.in_version_0(), reader)
            else:
                body = body_of(partial(asyncio.to_thread, one.without, set(one.haves)), reader)
            is_last = one.is_last
            del one  # git has it soon, the next one may come much later
            async for chunk in body:
                yield chunk
            if is_last:
                await reader.skip_rest()
                return
            one, count = await reader.next(ENDS_OF_HAVES), count + 1

    async def _answers(self, reader: RequestReader) -> AsyncGenerator[Part, None]:
        """Yield the output of a session of protocol 2. Its requests are independent, as over HTTP."""
        yield await self._fetched.advertise(is_session=True)
        for _ in range(MOST_REQUESTS):
            one = await reader.next()
            if one is None or one.text == FLUSH:  # a flush alone: the client has all that it wants
                return
            parts = self._fetched.answer(one, reader, takes_files=self._client.takes_files)
            del one  # git has it soon, the client its answer much later
            coming = asyncio.create_task(reader.read_on())
            try:
                async with contextlib.aclosing(parts):
                    async for part in parts:
                        yield part
            finally:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)
        yield pkt_line(b"ERR too many requests in one session")


async def _with_refusal(stream: AsyncGenerator[Part, None]) -> AsyncGenerator[Part, None]:
    """Yield the stream. If no slot for git is free, yield an error packet, because the response has begun."""
    try:
        async with contextlib.aclosing(stream):
            async for part in stream:
                yield part
    except Unavailable as error:
        yield pkt_line(f"ERR {error.message}".encode())


async def answer(
    client: Conversation,
    service: str,
    stream: AsyncGenerator[Part, None],
    repository_id: int,
    renew: RenewReader,
) -> None:
    """Forward the output of git until the client disconnects or loses its access. Raises ApiError.

    If access ends after the response has begun, CancelledError aborts the response. So the client does not
    treat a part as complete.
    """
    serving, may_stop = asyncio.current_task(), True
    departure = asyncio.create_task(client.disconnected())
    refusal = asyncio.create_task(read_rights.refusal(renew))

    def stop(ended: asyncio.Task[None] | asyncio.Task[ApiError]) -> None:
        nonlocal may_stop
        if may_stop and not ended.cancelled() and serving is not None:
            may_stop = False  # a second time would interrupt how the stream ends
            serving.cancel()

    departure.add_done_callback(stop)
    refusal.add_done_callback(stop)
    try:
        await forward(client, service, stream, repository_id)
    except asyncio.CancelledError:
        if departure.done():
            return
        if not refusal.done():
            raise
        error = refusal.result()
        log.info("fetch cut off", repository=repository_id, service=service, error=error.message)
        if client.is_started:
            raise
        raise error from None
    finally:
        may_stop = False
        departure.cancel()
        refusal.cancel()
