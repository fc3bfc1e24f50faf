"""Headers that pass through the gateway, in both directions."""

from ingot_wire.framing import FRAMING_HEADERS, Headers

CONNECTION_HEADERS = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"proxy-connection")
)
"""Headers that belong to one connection (RFC 9110, section 7.6.1)."""
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
"""Request headers that are removed or replaced before a service gets the request."""
REMOVED_PREFIXES = (b"ingot-", b"x-forwarded-", b"proxy-")
GATEWAY_HEADERS = CONNECTION_HEADERS | {b"server", b"date", b"x-request-id"}
"""Response headers that the gateway writes itself."""


def response_headers(headers: Headers) -> Headers:
    """Return the headers of a service's response that are sent to the client."""
    lowered = [(name.lower(), value) for name, value in headers]
    return [header for header in lowered if header[0] not in GATEWAY_HEADERS]
