"""Checks the size of a request's head and removes headers that a service must not get from a client.

It removes the credential, and headers that only the gateway may set (``Ingot-*``, ``X-Forwarded-*``). It also
removes hop-by-hop headers and the framing of the body. A well-formed request id is kept.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from ingot_chassis.errors import ApiError
from ingot_gateway.errors import HeadersTooLarge, UrlTooLong
from ingot_gateway.headers import REMOVED_HEADERS, REMOVED_PREFIXES
from ingot_gateway.routes import OWN_PATHS
from ingot_wire.framing import Headers

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class HeadLimits(NamedTuple):
    """Limits of the head of a request: the number of headers, and the bytes of headers and URL."""

    headers: int
    header_bytes: int
    url_bytes: int


class SanitizedRequest(NamedTuple):
    """The head of a request without the removed headers, and the values of some of them.

    ``length`` is the size of the body in bytes; None if it is unknown. ``error`` is the reason why the
    request is rejected, or None.
    """

    headers: Headers
    authorization: bytes
    sudo: bytes
    code: bytes
    cookies: bytes
    forwarded_for: bytes
    length: int | None
    error: ApiError | None
    proxied: Headers = []  # noqa: RUF012 - never changed
    """Headers by which a reverse proxy names its user."""


class HeadFilter:
    """Sanitizes every request, then passes it to the gateway's own routes or to the proxy.

    So neither of them gets a header that only the gateway may set. The proxy finds the ``SanitizedRequest``
    in its scope.
    """

    def __init__(
        self, limits: HeadLimits, proxy_headers: Collection[bytes], *, own: ASGIApp, proxy: ASGIApp
    ) -> None:
        self._limits, self._proxy_headers, self._own, self._proxy = limits, proxy_headers, own, proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._own(scope, receive, send)
            return
        request = sanitize(scope, self._limits, self._proxy_headers)
        scope["headers"] = request.headers
        if request.error is None and (scope["path"] in OWN_PATHS or scope["path"].rstrip("/") in OWN_PATHS):
            await self._own(scope, receive, send)
            return
        scope["sanitized_request"] = request  # type: ignore[typeddict-unknown-key]
        await self._proxy(scope, receive, send)


def sanitize(scope: HTTPScope, limits: HeadLimits, proxy_headers: Collection[bytes] = ()) -> SanitizedRequest:
    """Parse the head of a request, and remove the headers that a service must not get."""
    headers: Headers = []
    proxied: Headers = []
    removed: dict[bytes, bytes] = {}
    count = size = 0
    for header in scope["headers"]:
        name, value = header
        count += 1
        size += len(name) + len(value)
        if name in REMOVED_HEADERS:
            separator = b"; " if name == b"cookie" else b","
            removed[name] = removed[name] + separator + value if name in removed else value
        elif name in proxy_headers:
            proxied.append(header)
        elif not name.startswith(REMOVED_PREFIXES):
            headers.append(header)
    if names := _connection_headers(removed.get(b"connection", b"")):
        headers = [header for header in headers if header[0] not in names]
    if (request_id := removed.get(b"x-request-id")) and _REQUEST_ID.fullmatch(request_id):
        headers.append((b"x-request-id", request_id))
    length: int | None = None
    if b"transfer-encoding" not in removed:
        content_length = removed.get(b"content-length")
        length = int(content_length) if content_length else 0
    return SanitizedRequest(
        headers,
        removed.get(b"authorization", b""),
        removed.get(b"sudo", b""),
        removed.get(b"x-gitea-otp", b""),
        removed.get(b"cookie", b""),
        removed.get(b"x-forwarded-for", b""),
        length,
        _size_error(scope, count, size, limits),
        proxied,
    )


def _connection_headers(connection: bytes) -> set[bytes]:
    """Return the names of headers in the header ``Connection``."""
    if connection in (b"", b"keep-alive", b"close"):
        return set()
    return {name.strip().lower() for name in connection.split(b",")}


def _size_error(scope: HTTPScope, count: int, size: int, limits: HeadLimits) -> ApiError | None:
    if count > limits.headers or size > limits.header_bytes:
        return HeadersTooLarge()
    if len(scope["raw_path"]) + len(scope["query_string"]) > limits.url_bytes:
        return UrlTooLong()
    return None
