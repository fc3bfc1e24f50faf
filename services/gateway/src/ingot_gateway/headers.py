"""Headers that pass through the gateway, in both directions."""

from ingot_wire.framing import FRAMING_HEADERS, Headers

CONNECTION_HEADERS = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"proxy-connection")
)
"""They belong to one connection (RFC 9110, section 7.6.1)."""
REMOVED_HEADERS = (
    CONNECTION_HEADERS
    | FRAMING_HEADERS
    | {
        b"x-request-id",
        b"authorization",
        b"sudo",
        b"x-gitea-otp",
        b"cookie",
        b"forwarded",
        b"x-forwarded-for",
        b"x-real-ip",
        b"baggage",
    }
)
"""Headers of a request that no service gets as the client sent them."""
REMOVED_PREFIXES = (b"ingot-", b"x-forwarded-", b"proxy-")
GATEWAY_HEADERS = CONNECTION_HEADERS | {b"server", b"date", b"x-request-id"}
"""Headers of an answer that the gateway writes itself."""


def response_headers(headers: Headers) -> Headers:
    """Return the headers of a service's response that the client gets."""
    lowered = [(name.lower(), value) for name, value in headers]
    return [header for header in lowered if header[0] not in GATEWAY_HEADERS]
