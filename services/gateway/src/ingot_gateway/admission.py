"""What of a request may pass the door: its size, its headers, and the credential that is taken off it.

Taken off: the credential, everything that only the gateway may say (``Ingot-*``, ``X-Forwarded-*``) and what
belongs to one connection (RFC 9110, section 7.6.1). The request id and the length are put back if they are sound.
"""

import re
from typing import NamedTuple

from litestar.types import HTTPScope

from ingot_chassis.errors import ApiError
from ingot_gateway.errors import HeadersTooLarge, UrlTooLong

Headers = list[tuple[bytes, bytes]]

ONE_CONNECTION = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"proxy-connection")
)
TAKEN_OFF = ONE_CONNECTION | {
    b"content-length",
    b"x-request-id",
    b"authorization",
    b"sudo",
    b"cookie",
    b"host",
    b"expect",
    b"forwarded",
    b"x-forwarded-for",
    b"x-real-ip",
    b"baggage",
}
TAKEN_OFF_FAMILIES = (b"ingot-", b"x-forwarded-", b"proxy-")
ONLY_HERE = ONE_CONNECTION | {b"server", b"date", b"x-request-id"}
"""Headers of an answer that the gateway writes itself."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Limits(NamedTuple):
    """How large the head of a request may be."""

    headers: int
    header_bytes: int
    url_bytes: int


class Admitted(NamedTuple):
    """The head of a request after the door. ``length`` None: there is a body of unknown length."""

    headers: Headers
    authorization: bytes
    sudo: bytes
    forwarded_for: bytes
    length: int | None
    refusal: ApiError | None


def admit(scope: HTTPScope, limits: Limits) -> Admitted:
    """Look through the head of a request."""
    headers: Headers = scope["headers"]  # type: ignore[assignment]
    kept: Headers = []
    taken: dict[bytes, bytes] = {}
    size = 0
    for header in headers:
        name, value = header
        size += len(name) + len(value)
        if name in TAKEN_OFF:
            taken[name] = taken[name] + b"," + value if name in taken else value
        elif not name.startswith(TAKEN_OFF_FAMILIES):
            kept.append(header)
    if named := _named(taken.get(b"connection", b"")):
        kept = [header for header in kept if header[0] not in named]
    if (request_id := taken.get(b"x-request-id")) and _REQUEST_ID.fullmatch(request_id):
        kept.append((b"x-request-id", request_id))
    length: int | None = None
    if b"transfer-encoding" not in taken:
        length = int(announced) if (announced := taken.get(b"content-length")) else 0
        if announced:
            kept.append((b"content-length", announced))
    return Admitted(
        kept,
        taken.get(b"authorization", b""),
        taken.get(b"sudo", b""),
        taken.get(b"x-forwarded-for", b""),
        length,
        _refusal(scope, len(headers), size, limits),
    )


def _named(connection: bytes) -> set[bytes]:
    """The headers that the client says belong to its connection."""
    if connection in (b"", b"keep-alive", b"close"):
        return set()
    return {part.strip().lower() for part in connection.split(b",")}


def _refusal(scope: HTTPScope, count: int, size: int, limits: Limits) -> ApiError | None:
    if count > limits.headers or size > limits.header_bytes:
        return HeadersTooLarge()
    if len(scope["raw_path"]) + len(scope["query_string"]) > limits.url_bytes:
        return UrlTooLong()
    return None


def answered(headers: Headers) -> Headers:
    """The headers of an answer that pass to the client."""
    return [
        (name, value)
        for name, value in ((name.lower(), value) for name, value in headers)
        if name not in ONLY_HERE
    ]
