"""Calls to other services: small JSON over HTTP, or directly into their app in the same process.

A call carries the caller's principal, address and request id, and is signed with this service's own identity.
An unreachable peer is retried within the time of the call.
"""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote, unquote

import msgspec
import structlog

from ingot_chassis.errors import (
    NO_OPERATION,
    REASON_HEADER,
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
    """Another service, as a service calls it."""

    def __init__(self, name: str, transport: Transport, identity: ServiceIdentity) -> None:
        self.name, self._transport, self._identity = name, transport, identity

    async def get(self, path: str, answer: type[_T], *, principal: str = "") -> _T:
        """GET ``path`` and decode the response. Raises the peer's ApiError, or Unavailable."""
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
        """POST ``body`` and decode the response, without a retry. Raises the errors of ``get``."""
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
        """Send one call and return its 2xx response. Raises the peer's ApiError, or Unavailable."""
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
    """A peer's 3xx or 4xx without a class of its own. It is passed on with its status, message and fields."""

    location = ""
    """The Location header of a 3xx response. It is not passed on."""


class NoRoute(NotFound):
    """A peer of a former release that lacks the route, as opposed to a missing resource."""

    def unavailable(self, name: str) -> Unavailable:
        """Return the error for a response that is required but missing.

        Such a peer is being updated, so it is available again soon.
        """
        return Unavailable(f"{name} is being updated")


REFUSALS: Mapping[int, type[ApiError]] = {
    error.status: error
    for error in (
        BadRequest,
        Unauthenticated,
        Denied,
        NotFound,
        NotAllowed,
        Conflict,
        TooLarge,
        Invalid,
        TooManyRequests,
    )
}
"""The error to raise for each 4xx status of a peer. A 5xx or a timeout is Unavailable."""


def without_words(name: str) -> str:
    """Return a message for a peer's error response that has none."""
    return f"{name} refused"


def _error(name: str, answer: PeerAnswer) -> ApiError:
    if answer.status >= 500:
        return Unavailable(f"{name} cannot answer")
    try:
        body = msgspec.json.decode(answer.body, type=ErrorObject)
    except msgspec.DecodeError:
        reason = unquote(answer.headers.get(REASON_HEADER.lower(), ""))
        body = ErrorObject(message=reason or without_words(name), url="")
    headers = {name: value for name, value in answer.headers.items() if name == "retry-after"}
    refusal = REFUSALS.get(answer.status, Refusal)
    if refusal is NotFound and body.message == NO_OPERATION:
        refusal = NoRoute
    error = refusal(body.message, errors=body.errors, headers=headers)
    error.status = answer.status
    if isinstance(error, Refusal):
        error.location = answer.headers.get("location", "")
    return error


def _decode(name: str, answer: PeerAnswer, cls: type[_T]) -> _T:
    try:
        return msgspec.json.decode(answer.body, type=cls)
    except msgspec.DecodeError as error:
        raise Unavailable(f"{name} sent an invalid response: {error}") from error


def segment(text: str) -> str:
    """Quote ``text`` as one segment of a path."""
    return quote(text, safe="")
