"""Calls to other services: small JSON over HTTP, or straight into their app in the same process.

The caller's principal, address and request id go along; the call is signed with this service's own identity. A GET is
tried again once or twice when the connection fails; anything else is sent once.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, unquote

import msgspec
import structlog
from opentelemetry import propagate

from ingot_chassis.errors import ApiError, ErrorObject, FieldError, Unavailable
from ingot_chassis.hop import Origin
from ingot_chassis.principal import PRINCIPAL_HEADER, SERVICE_HEADER, ServiceIdentity
from ingot_chassis.telemetry import client_address, client_span, request_id

log = structlog.get_logger()

_T = TypeVar("_T")
Asgi = Any

TIMEOUT = 10.0
TRIES = 3
PAUSE = 0.05


class PeerAnswer(msgspec.Struct, frozen=True):
    """A whole answer, names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Carries one call. Raises ConnectionError, or TimeoutError after ``timeout`` seconds."""

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer: ...

    async def close(self) -> None: ...


class HttpTransport:
    """Over a socket."""

    def __init__(self, base_url: str) -> None:
        self._origin = Origin(base_url)

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer:
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        async with (
            asyncio.timeout(timeout),
            await self._origin.request(method, path.encode(), sent, body) as answer,
        ):
            told = {name.decode().lower(): value.decode("latin-1") for name, value in answer.headers}
            return PeerAnswer(answer.status, told, await answer.whole())

    async def close(self) -> None:
        await self._origin.close()


class AsgiTransport:
    """Into an app of the same process, through the whole of HTTP semantics but the socket."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,  # noqa: ASYNC109
    ) -> PeerAnswer:
        raw_path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw_path),
            "raw_path": raw_path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()]
            + [(b"content-length", str(len(body)).encode())],
            "client": ("in-process", 0),
            "server": ("in-process", 0),
            "state": {},
        }
        received = asyncio.Queue[dict[str, Any]]()
        received.put_nowait({"type": "http.request", "body": body, "more_body": False})
        status, answer_headers, chunks = 500, {}, []

        async def send(message: dict[str, Any]) -> None:
            nonlocal status, answer_headers
            if message["type"] == "http.response.start":
                status = message["status"]
                answer_headers = {k.decode(): v.decode() for k, v in message.get("headers", [])}
            elif message["type"] == "http.response.body":
                chunks.append(message.get("body", b""))

        async with asyncio.timeout(timeout):
            await self._app(scope, received.get, send)
        return PeerAnswer(status, answer_headers, b"".join(chunks))

    async def close(self) -> None:
        """Nothing is held open."""


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
            SERVICE_HEADER: self._identity.statement(self.name),
            "content-type": "application/json",
            "x-request-id": request_id(),
        }
        if principal:
            headers[PRINCIPAL_HEADER] = principal
        if address := client_address():
            headers["x-forwarded-for"] = address
        with client_span(lambda: f"{method} {self.name}"):
            propagate.inject(headers)
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
        tries, attempt = TRIES if method == "GET" else 1, 0
        while True:
            attempt += 1
            try:
                return await self._transport.send(method, path, headers, body, timeout)
            except (ConnectionError, TimeoutError) as error:
                log.warning(
                    "peer does not answer", peer=self.name, path=path, attempt=attempt, error=repr(error)
                )
                # One that is slow is not asked again: it may still be at work on the first.
                if attempt == tries or isinstance(error, TimeoutError):
                    raise Unavailable(f"{self.name} does not answer") from error
                await asyncio.sleep(PAUSE * attempt)

    async def close(self) -> None:
        await self._transport.close()


class Peers(dict[str, Peer]):
    """The peers of one service by name."""

    @classmethod
    def over_http(cls, urls: Mapping[str, str], identity: ServiceIdentity) -> "Peers":
        return cls({name: Peer(name, HttpTransport(url), identity) for name, url in urls.items()})

    @classmethod
    def in_process(cls, apps: Mapping[str, Asgi], identity: ServiceIdentity) -> "Peers":
        return cls({name: Peer(name, AsgiTransport(app), identity) for name, app in apps.items()})

    async def close(self) -> None:
        for peer in self.values():
            await peer.close()


class Refusal(ApiError):
    """A peer's 4xx, passed on with its status, message and fields."""


def _error(name: str, answer: PeerAnswer) -> ApiError:
    if answer.status >= 500:
        return Unavailable(f"{name} cannot answer")
    try:
        told = msgspec.json.decode(answer.body, type=ErrorObject)
    except msgspec.DecodeError:
        told = ErrorObject(message=f"{name} refused", url="")
    refusal = Refusal(told.message, errors=[FieldError(e.field, e.code, e.message) for e in told.errors])
    refusal.status = answer.status
    wait = {name: value for name, value in answer.headers.items() if name == "retry-after"}
    for known in ApiError.__subclasses__():
        if known.status == answer.status and known is not Refusal and known is not Unavailable:
            return known(told.message, errors=told.errors, headers=wait)
    return refusal


def _decode(name: str, answer: PeerAnswer, cls: type[_T]) -> _T:
    try:
        return msgspec.json.decode(answer.body, type=cls)
    except msgspec.DecodeError as error:
        raise Unavailable(f"{name} answered something unreadable: {error}") from error


def segment(text: str) -> str:
    """``text`` as one segment of a path."""
    return quote(text, safe="")
