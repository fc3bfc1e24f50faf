"""Rules for heads and framing of HTTP/1.1 messages, for the server and the client.

Framing defines where a message ends (RFC 9112, section 6). If two programs disagree about it, they take one
caller's bytes for another caller's message. So each message is framed in one plain way, and no other framing
is read or written.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

Headers = list[tuple[bytes, bytes]]

FRAMING_HEADERS = frozenset(
    (
        b"connection",
        b"content-length",
        b"expect",
        b"host",
        b"keep-alive",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
"""Headers of a request that only the client of this package writes, since they belong to one connection."""
VERSIONS = ("1.1", "1.0")
MAX_LENGTH_DIGITS = 20
"""Characters of a Content-Length, leading zeros included; converting thousands of digits would fail."""

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HOST = re.compile(rb"[-._~!$&'()*+,;=%:\[\]0-9A-Za-z]* *")
_CONTROL_BYTES = bytes({*range(32), 127} - {ord("\t")})
_BAD_TARGET = re.compile(rb"[\x00-\x20\x7f]")


@lru_cache(1024)
def header_name(name: bytes) -> bytes:
    """Return the name in lower case. Raises ValueError if it is not a token (RFC 9110, section 5.1)."""
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"invalid header name: {name!r}")
    return name.lower()


def check_values(fields: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise ValueError if a header value has a control character, such as a line break."""
    values = b"".join([value for _, value in fields])
    if len(values.translate(None, _CONTROL_BYTES)) != len(values):
        raise ValueError("a header value contains a control character")


def request_head(
    method: str, target: bytes, authority: bytes, headers: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """Return the request line, ``Host`` and ``headers``, without the framing and without the empty line.

    Raises ValueError for an invalid method, target or header, and for headers of ``FRAMING_HEADERS``.
    """
    if not _TOKEN.fullmatch(method.encode()) or _BAD_TARGET.search(target) or not target:
        raise ValueError(f"invalid request line: {method} {target!r}")
    headers = list(headers)
    check_values(headers)
    lines = [b"%b: %b\r\n" % (_sent_name(name), value) for name, value in headers]
    return b"%b %b HTTP/1.1\r\nhost: %b\r\n%b" % (method.encode(), target, authority, b"".join(lines))


@lru_cache(1024)
def _sent_name(name: bytes) -> bytes:
    lowered = header_name(name)
    if lowered in FRAMING_HEADERS:
        raise ValueError(f"{lowered.decode()} is written by the client itself")
    return lowered


def request_framing_error(method: str, version: str, headers: Headers) -> str:
    """Return the reason why a request is rejected for its framing; empty if its framing is plain.

    RFC 9112, sections 3.2 (one Host), 6.1 (transfer codings) and 6.3 (lengths); RFC 9110, section 7.8
    (upgrades).
    """
    if version not in VERSIONS:
        return "The server speaks HTTP/1.1 and HTTP/1.0; use one of them."
    if method == "CONNECT":
        return "The server is no proxy: CONNECT is not supported."
    fields = _framing_fields(headers)
    if fields[b"upgrade"]:
        return "The server does not switch protocols; send the request without the Upgrade header."
    hosts = fields[b"host"]
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        return "The request needs exactly one Host header."
    if hosts and not _HOST.fullmatch(hosts[0]):
        return "The Host header is not the name or address of a host."
    return _body_framing_error(version, fields)


def response_framing_error(version: str, headers: Headers, *, has_body: bool) -> str:
    """Return the reason why a response is rejected for its framing; empty if its framing is plain.

    ``has_body``: its status and method allow a body. A body that ends with the connection is rejected,
    because a part of it would look complete.
    """
    if version not in VERSIONS:
        return f"the version is HTTP/{version}"
    fields = _framing_fields(headers)
    if has_body and not fields[b"content-length"] and not fields[b"transfer-encoding"]:
        return "nothing says where the body ends"
    return _body_framing_error(version, fields)


def _framing_fields(headers: Headers) -> dict[bytes, list[bytes]]:
    fields: dict[bytes, list[bytes]] = {
        b"host": [],
        b"content-length": [],
        b"transfer-encoding": [],
        b"upgrade": [],
    }
    for name, value in headers:
        lowered = name.lower()
        if lowered in fields:
            fields[lowered].append(value)
    return fields


def _body_framing_error(version: str, fields: dict[bytes, list[bytes]]) -> str:
    lengths, codings = fields[b"content-length"], fields[b"transfer-encoding"]
    if len(lengths) > 1 or (lengths and codings):
        return "A message has one Content-Length or one Transfer-Encoding, not both."
    if lengths and len(lengths[0]) > MAX_LENGTH_DIGITS:
        return f"A Content-Length has at most {MAX_LENGTH_DIGITS} digits."
    # llhttp takes spaces for the end of a value, but no tab. Its own error would come after the handler began.
    if codings and (len(codings) > 1 or codings[0].strip(b" ").lower() != b"chunked" or version == "1.0"):
        return "Transfer-Encoding can only be chunked, and only in HTTP/1.1."
    return ""
