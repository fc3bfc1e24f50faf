"""A fetch, streamed both ways: the same for HTTP and for SSH. While it runs, it is decided about again and again."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial

import structlog

from ingot_chassis.errors import ApiError, Unavailable
from ingot_repos.api import read_rights
from ingot_repos.api.exchanges import Exchange
from ingot_repos.api.git_exchanges import MAX_INFLATED, forward
from ingot_repos.api.read_rights import RenewReader
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.api.shared_fetches import (
    answer_to_body,
    answer_to_fetch,
    body_of,
    shared_bundle,
    visible_body,
    within_limits,
)
from ingot_repos.git.errors import GitError
from ingot_repos.git.fetch_requests import ENDS_OF_HAVES, RequestReader
from ingot_repos.git.smart_http import FLUSH, advertise, inflate, pkt_line, serve, speaks_v2
from ingot_repos.git.spools import Part

log = structlog.get_logger()

MOST_REQUESTS = 1000
"""Of one session. A client that knows what it wants needs a few."""


async def fetch(repository: ResolvedRepository, renew: RenewReader, exchange: Exchange) -> None:
    """Stream a pack; stop git when the client goes away, or may not fetch any more. Raises ApiError."""
    request, body = exchange.request, exchange.body()
    if exchange.is_gzip:
        body = inflate(body, MAX_INFLATED)
    # In a session of protocol 0 git runs before the client says anything. Who has the room of git waits for no long request,
    # since those wait for that room.
    git_speaks_first = exchange.is_session and not speaks_v2(exchange.protocol)
    long_slot = partial(
        request.components.long_requests.slot,
        repository.id,
        signed_in=request.counts_as_signed_in,
        waits=not git_speaks_first,
    )
    reader = RequestReader(body, long_slot)
    if not exchange.is_session:
        stream = answer_to_body(repository, request, reader, takes_files=exchange.takes_files)
    elif not git_speaks_first:
        stream = _with_refusal(_answers_to_session(repository, exchange, reader))
    else:
        git = serve(
            request.storage.path(repository.id),
            "git-upload-pack",
            exchange.protocol,
            _body_of_session(repository, request, reader),
            stateless=False,
            drain=False,
            max_memory=request.max_git_memory,
        )
        stream = _with_refusal(within_limits(repository, request, git))
    try:
        await answer(repository, exchange, "git-upload-pack", stream, renew)
    finally:
        await reader.close()


async def send_bundle(
    repository: ResolvedRepository, commit: str, renew: RenewReader, exchange: Exchange
) -> None:
    """Stream the bundle of a commit; it ends early as a fetch does. Raises ApiError."""
    exchange.body_ended.set()  # no request for it has one
    await answer(repository, exchange, "git-upload-pack", _bundle(repository, commit, exchange), renew)


async def _bundle(
    repository: ResolvedRepository, commit: str, exchange: Exchange
) -> AsyncGenerator[Part, None]:
    """Its parts. An error of git breaks the answer off, so that nobody takes a part for the whole."""
    parts = shared_bundle(repository, exchange.request, commit, takes_files=exchange.takes_files)
    try:
        async with contextlib.aclosing(parts):
            async for part in parts:
                await exchange.start("application/octet-stream")
                yield part
    except GitError as error:
        raise Unavailable("the bundle could not be made") from error


async def _with_refusal(stream: AsyncGenerator[Part, None]) -> AsyncGenerator[Part, None]:
    """The stream; when there is no room for git, it says so in the words of git, since the answer has begun."""
    try:
        async with contextlib.aclosing(stream):
            async for part in stream:
                yield part
    except Unavailable as error:
        yield pkt_line(f"ERR {error.message}".encode())


async def _body_of_session(
    repository: ResolvedRepository, request: RepositoryRequest, reader: RequestReader
) -> AsyncIterator[bytes]:
    """What git gets in a session of protocol 0. What the client has is looked at in a limited number of requests."""
    one, count = await reader.next(), 1
    while one is not None:
        if count <= MOST_REQUESTS:
            body = visible_body(repository, request, one.in_version_0(), reader)
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


async def _answers_to_session(
    repository: ResolvedRepository, exchange: Exchange, reader: RequestReader
) -> AsyncGenerator[Part, None]:
    """What git says in a session of protocol 2, whose requests know nothing of each other, as over HTTP."""
    path, memory = exchange.request.storage.path(repository.id), exchange.request.max_git_memory
    yield await advertise(path, "git-upload-pack", exchange.protocol, is_session=True, max_memory=memory)
    for _ in range(MOST_REQUESTS):
        one = await reader.next()
        if one is None or one.text == FLUSH:  # a flush alone: the client has all that it wants
            return
        parts = answer_to_fetch(repository, exchange.request, one, reader, takes_files=exchange.takes_files)
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


async def answer(
    repository: ResolvedRepository,
    exchange: Exchange,
    service: str,
    stream: AsyncGenerator[Part, None],
    renew: RenewReader,
) -> None:
    """Forward what git says; end it when the client goes away, or may not have it any more. Raises ApiError.

    An answer that has begun is then cut off by CancelledError, so that nobody takes a part for the whole.
    """
    serving, may_stop = asyncio.current_task(), True
    departure = asyncio.create_task(exchange.disconnected())
    refusal = asyncio.create_task(read_rights.refusal(renew))

    def stop(ended: asyncio.Task[None] | asyncio.Task[ApiError]) -> None:
        nonlocal may_stop
        if may_stop and not ended.cancelled() and serving is not None:
            may_stop = False  # a second time would interrupt how the stream ends
            serving.cancel()

    departure.add_done_callback(stop)
    refusal.add_done_callback(stop)
    try:
        await forward(exchange, service, stream, repository)
    except asyncio.CancelledError:
        if departure.done():
            return
        if not refusal.done():
            raise
        error = refusal.result()
        log.info("fetch cut off", repository=repository.id, service=service, error=error.message)
        if exchange.is_started:
            raise
        raise error from None
    finally:
        may_stop = False
        departure.cancel()
        refusal.cancel()
