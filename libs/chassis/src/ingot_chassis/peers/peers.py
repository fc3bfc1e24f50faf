"""Calls to other services: small JSON over HTTP, or straight into their app in the same process.

The caller's principal, address and request id go along; the call is signed with this service's own identity. A peer that
cannot be reached is waited for, within the time that the call has.
"""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote

import msgspec
import structlog

from ingot_chassis.errors import (
    ApiError,
    BadRequest,
    Conflict,
    Denied,
    ErrorObject,
    Invalid,
    NotAllowed,
    NotFound,
    TooLarge,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from ingot_chassis.peers.asgi import AsgiApp
from ingot_chassis.peers.transports import AsgiTransport, HttpTransport, PeerAnswer, Transport
from ingot_chassis.security.principal import PRINCIPAL_HEADER, SERVICE_HEADER, ServiceIdentity
from ingot_chassis.telemetry import client_address, client_span, request_id, trace_context
from ingot_wire.client import Origin

log = structlog.get_logger()

_T = TypeVar("_T")

TIMEOUT = 10.0


class Peer:
    """One other service, as the service ``identity`` sees it."""

    def __init__(self, name: str, transport: Transport, identity: ServiceIdentity) -> None:
        self.name, self._transport, self._identity = name, transport, identity

    async def get(self, path: str, answer: type[_T], *, principal: str = "") -> _T:
        """GET ``path`` and decode. Raises the ApiError that the peer answered, or Unavailable."""
        return _decode(self.name, await self.call("GET", path, principal=principal), answer)

    async def post(
        self,
        path: str,
        body: msgspec.Struct,
        answer: type[_T],
        *,
        principal: str = "",
        timeout: float = TIMEOUT,  # noqa: ASYNC109
    ) -> _T:
        """POST ``body`` and decode; not tried again. Raises as ``get`` does."""
        sent = await self.call("POST", path, msgspec.json.encode(body), principal=principal, timeout=timeout)
        return _decode(self.name, sent, answer)

    async def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        principal: str = "",
        timeout: float = TIMEOUT,  # noqa: ASYNC109
    ) -> PeerAnswer:
        """Send one call; the answer is 2xx or the error it stands for is raised."""
        headers = {
            SERVICE_HEADER: self._identity.token(self.name),
            "content-type": "application/json",
            "x-request-id": request_id(),
        }
        if principal:
            headers[PRINCIPAL_HEADER] = principal
        if address := client_address():
            headers["x-forwarded-for"] = address
        with client_span(lambda: f"{method} {self.name}"):
            trace_context.inject(headers)
            answer = await self._sent(method, path, headers, body, timeout)
        if 200 <= answer.status < 300:
            return answer
        raise _error(self.name, answer)

    async def _sent(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer:
        try:
            return await self._transport.send(method, path, headers, body, timeout)
        except (ConnectionError, TimeoutError) as error:
            log.warning("peer does not answer", peer=self.name, path=path, error=repr(error))
            raise Unavailable(f"{self.name} does not answer") from error

    async def close(self) -> None:
        await self._transport.close()


class Peers(dict[str, Peer]):
    """The peers of one service by name."""

    @classmethod
    def over_http(cls, origins: Mapping[str, Origin], identity: ServiceIdentity) -> "Peers":
        return cls({name: Peer(name, HttpTransport(origin), identity) for name, origin in origins.items()})

    @classmethod
    def in_process(cls, apps: Mapping[str, AsgiApp], identity: ServiceIdentity) -> "Peers":
        return cls({name: Peer(name, AsgiTransport(app), identity) for name, app in apps.items()})

    async def close(self) -> None:
        for peer in self.values():
            await peer.close()


class Refusal(ApiError):
    """A peer's 3xx or 4xx for which there is no class of its own, passed on with its status, message and fields."""

    location = ""
    """Where a 3xx says that the thing is now; it is not passed on."""


REFUSALS: Mapping[int, type[ApiError]] = {
    error.status: error
    for error in (
        BadRequest, Unauthenticated, Denied, NotFound, NotAllowed, Conflict, TooLarge, Invalid, TooManyRequests,
    )
}  # fmt: skip
"""What a peer's 4xx is raised as; a 5xx and silence are Unavailable."""


def without_words(name: str) -> str:
    """The message of what a peer refused without one."""
    return f"{name} refused"


def _error(name: str, answer: PeerAnswer) -> ApiError:
    if answer.status >= 500:
        return Unavailable(f"{name} cannot answer")
    try:
        body = msgspec.json.decode(answer.body, type=ErrorObject)
    except msgspec.DecodeError:
        body = ErrorObject(message=without_words(name), url="")
    headers = {name: value for name, value in answer.headers.items() if name == "retry-after"}
    error = REFUSALS.get(answer.status, Refusal)(body.message, errors=body.errors, headers=headers)
    error.status = answer.status
    if isinstance(error, Refusal):
        error.location = answer.headers.get("location", "")
    return error


def _decode(name: str, answer: PeerAnswer, cls: type[_T]) -> _T:
    try:
        return msgspec.json.decode(answer.body, type=cls)
    except msgspec.DecodeError as error:
        raise Unavailable(f"{name} answered something unreadable: {error}") from error


def segment(text: str) -> str:
    """``text`` as one segment of a path."""
    return quote(text, safe="")
