"""Repeated checks of read access while a response is being sent."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, cast

import structlog
from litestar import Response
from litestar.response import Stream

from ingot_chassis.errors import ApiError, Denied
from ingot_contracts.identity.units import Unit
from ingot_repos.access.api.policies import refresh_memberships, resolve_by_id
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.read_rights import RenewReader, refusal
from ingot_repos.clients.identity import HttpIdentity

log = structlog.get_logger()


def renew_reader(
    request: RepositoryRequest,
    repository_id: int,
    level: access.RequiredLevel = "read",
    unit: Unit | None = "code",
) -> RenewReader:
    """Return a check that raises an ApiError if the credential of the request no longer gives this access."""
    return partial(_renew_reader, request, repository_id, level, unit)


async def _renew_reader(
    request: RepositoryRequest, repository_id: int, level: access.RequiredLevel, unit: Unit | None
) -> None:
    if request.principal.signed_in:
        await renew_principal(request, "read:repository")
    await resolve_by_id(request, repository_id, level, unit)


async def renew_principal(request: RepositoryRequest, scope: str) -> None:
    """Refresh the principal of the request from its credential.

    Raises Unauthenticated, and Denied without the scope. Requests under sudo and from a session have no
    credential to check, so only their memberships are refreshed.
    """
    if request.principal.credential:
        principal = await request.part(HttpIdentity).renewed(request.principal)
        request.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]
    else:
        await refresh_memberships(request)
    require_scope(request, scope)


def require_scope(request: RepositoryRequest, scope: str) -> None:
    """Raise Denied if the token lacks the scope."""
    if request.principal.signed_in and not request.principal.may(scope):
        raise Denied("the token lacks the scope for that")


def while_readable(answer: Response[Any], resource_id: int, renew: RenewReader) -> Response[Any]:
    """Return the response. A streamed response is cut off as soon as ``renew`` raises.

    The connection then breaks, so the client notices that the response is incomplete. ``resource_id`` is the
    id of the repository or organization, for the log.
    """
    if isinstance(answer, Stream):
        parts = cast("AsyncGenerator[bytes, None]", answer.iterator)
        answer.iterator = _cut_off(parts, resource_id, renew, asyncio.current_task())
    return answer


async def _cut_off(
    parts: AsyncGenerator[bytes, None],
    resource_id: int,
    renew: RenewReader,
    serving: asyncio.Task[Any] | None,
) -> AsyncGenerator[bytes, None]:
    """Yield the parts. When access ends, cancel the request's task, even while it waits for the client."""
    may_stop, decision = True, asyncio.create_task(refusal(renew), name="the right to read")

    def stop(ended: asyncio.Task[ApiError]) -> None:
        if may_stop and not ended.cancelled() and serving is not None:
            log.info("download cut off", resource=resource_id, error=ended.result().message)
            serving.cancel()

    decision.add_done_callback(stop)
    if serving is not None:  # also when the client disconnects in the middle of a part
        serving.add_done_callback(lambda _: decision.cancel())
    try:
        async with aclosing(parts):
            async for part in parts:
                yield part
    finally:
        may_stop = False
        decision.cancel()
