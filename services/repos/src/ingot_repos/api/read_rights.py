"""The right to read, decided again and again while an answer runs: of fetches, archives and files."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, cast

import structlog
from litestar import Response
from litestar.response import Stream

from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated
from ingot_repos.api.policies import refresh_memberships, resolve_by_id
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import access

log = structlog.get_logger()

DECIDE_AGAIN_SECONDS = 3.0
"""What runs for longer is decided about again, each time. Less than a *yes* is good for."""
RenewReader = Callable[[], Awaitable[object]]
"""Decides anew, with the same credential; raises the ApiError for which an answer does not begin."""


async def refusal(renew: RenewReader) -> ApiError:
    """Why an answer may not go on, as soon as that is so. What cannot be decided is decided the next time."""
    while True:
        await asyncio.sleep(DECIDE_AGAIN_SECONDS)
        try:
            await renew()
        except (NotFound, Unauthenticated, Denied) as error:
            return error
        except Exception as error:  # noqa: BLE001 - while identity or the database is away, answers go on
            log.warning("right to read not decided about again", error=repr(error))


def renew_reader(
    request: RepositoryRequest, repository_id: int, level: access.RequiredLevel = "read", unit: str = ""
) -> RenewReader:
    """It raises when the credential of the request, as it is now, may not read the repository any more."""
    return partial(_renew_reader, request, repository_id, level, unit)


async def _renew_reader(
    request: RepositoryRequest, repository_id: int, level: access.RequiredLevel, unit: str
) -> None:
    if request.principal.signed_in:
        await renew_principal(request, "read:repository")
    await resolve_by_id(request, repository_id, level, unit)


async def renew_principal(request: RepositoryRequest, scope: str) -> None:
    """The principal of the request is what its credential is now. Raises Unauthenticated, Denied without the scope.

    Under sudo and by a session there is no credential that identity could look at again, only memberships.
    """
    if request.principal.credential:
        principal = await request.components.identity.renewed(request.principal)
        request.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]
    else:
        await refresh_memberships(request)
    require_scope(request, scope)


def require_scope(request: RepositoryRequest, scope: str) -> None:
    """Raises Denied."""
    if request.principal.signed_in and not request.principal.may(scope):
        raise Denied("the token lacks the scope for that")


def while_readable(answer: Response[Any], repository_id: int, renew: RenewReader) -> Response[Any]:
    """The answer of a handler. If it is long, it is cut off when ``renew`` raises, so that nobody takes a part for the whole."""
    if isinstance(answer, Stream):
        parts = cast("AsyncGenerator[bytes, None]", answer.iterator)
        answer.iterator = _cut_off(parts, repository_id, renew, asyncio.current_task())
    return answer


async def _cut_off(
    parts: AsyncGenerator[bytes, None],
    repository_id: int,
    renew: RenewReader,
    serving: asyncio.Task[Any] | None,
) -> AsyncGenerator[bytes, None]:
    """The parts. When the right ends, the task of the request is cancelled, also while it waits for its client."""
    may_stop, decision = True, asyncio.create_task(refusal(renew), name="the right to read")

    def stop(ended: asyncio.Task[ApiError]) -> None:
        if may_stop and not ended.cancelled() and serving is not None:
            log.info("download cut off", repository=repository_id, error=ended.result().message)
            serving.cancel()

    decision.add_done_callback(stop)
    if serving is not None:  # also when its client has left in the middle of a part
        serving.add_done_callback(lambda _: decision.cancel())
    try:
        async with aclosing(parts):
            async for part in parts:
                yield part
    finally:
        may_stop = False
        decision.cancel()
