"""Parsed requests to fakes of services, and error responses."""

import base64
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar
from urllib.parse import parse_qs

import msgspec

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
MAX_ID = 2**63 - 1
_B = TypeVar("_B", bound=msgspec.Struct)


class Caller(msgspec.Struct, frozen=True):
    """The claims of ``Ingot-Principal`` that the fake repos uses for decisions. ``id`` 0: anonymous."""

    id: int = 0
    admin: bool = False
    restricted_to: list[int] | None = msgspec.field(default=None, name="confined_to")
    public_only: bool = False
    granted_only: bool = False

    def is_restricted(self, repository_id: int, *, public: bool) -> bool:
        """True if the token of the caller is restricted to other repositories."""
        if self.restricted_to is None or repository_id in self.restricted_to:
            return False
        return not (public and self.public_only)


class RecordedCall(msgspec.Struct, frozen=True):
    """A recorded request.

    ``operation`` is the last literal segment of its route, such as "access", "merge" or "branches".
    """

    method: str
    path: str
    query: str
    body: bytes
    peer: str
    caller: Caller
    operation: str


class Refusal(Exception):
    def __init__(self, status: int, message: str = "Not found.") -> None:
        super().__init__(message)
        self.status = status


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


def recorded_call(scope: MutableMapping[str, Any], body: bytes) -> RecordedCall:
    headers = {name.lower(): value for name, value in scope["headers"]}
    segments = scope["path"].split("/")  # "", "internal", "repositories", …
    at = 6 if segments[3:4] == ["by-name"] else 4
    return RecordedCall(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode(),
        body=body,
        peer=_claims(headers.get(b"ingot-service", b"")).get("iss", ""),
        caller=msgspec.convert(
            _claims(headers.get(b"ingot-principal", b"")).get("principal", {}), Caller, strict=False
        ),
        operation=segments[at] if at < len(segments) else segments[-1],
    )


def _claims(token: bytes) -> dict[str, Any]:
    """Return the payload of a JWT. Its signature is not verified."""
    if not token:
        return {}
    payload = token.split(b".")[1]
    claims: dict[str, Any] = msgspec.json.decode(
        base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4))
    )
    return claims


def body_of(call: RecordedCall, body_type: type[_B]) -> _B:
    """Decode a JSON body. Raises Refusal (422) for an invalid body."""
    try:
        return msgspec.json.decode(call.body, type=body_type)
    except msgspec.DecodeError as error:
        raise Refusal(422, str(error)) from None


def parameter_of(call: RecordedCall, name: str) -> str:
    return parse_qs(call.query, keep_blank_values=True).get(name, [""])[-1]


def id_of(text: str) -> int:
    """Return the id in a path or query; 0, which is never used, for any other text."""
    return int(text) if text.isascii() and text.isdigit() and int(text) <= MAX_ID else 0


def error_body(message: str) -> dict[str, Any]:
    return {"message": message, "url": "http://ingot.test/api/v1/docs"}
