"""Redirect URIs: rules for registration, and the check of a URI in a request.

See RFC 6749 section 3.1.2, RFC 8252 section 7, RFC 9700 section 2.1.
"""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from ingot_chassis.errors import Invalid

MOST = 20
LONGEST = 2_000
_ALLOWED = re.compile(r"[A-Za-z0-9\-._~:/?@!$&'()+,;=%\[\]]+")
"""Characters of a URI (RFC 3986), without ``*`` and ``#``."""
_FORBIDDEN_SCHEMES = frozenset(
    [
        "about",
        "blob",
        "data",
        "file",
        "filesystem",
        "ftp",
        "javascript",
        "vbscript",
        "view-source",
        "ws",
        "wss",
    ]
)
"""Schemes that run code, read files, or do not belong to a program."""


def check(uris: list[str], *, tls: bool) -> list[str]:
    """Return ``uris`` without duplicates. Raises Invalid if an application may not register one of them.

    ``tls``: Ingot itself is served over https. Without it, http is allowed.
    """
    if not uris:
        raise Invalid.field("redirect_uris", "required", "names no address")
    if len(uris) > MOST:
        raise Invalid.field("redirect_uris", "length", f"has more than {MOST} addresses")
    for uri in uris:
        problem = _problem(uri, tls=tls)
        if problem:
            raise Invalid.field("redirect_uris", "form", f"{uri[:200]!r} {problem}")
    return list(dict.fromkeys(uris))


def is_registered(uri: str, registered: list[str]) -> bool:
    """True if ``uri`` is registered. It is compared exactly, except the port of a loopback address."""
    if uri in registered:
        return True
    requested = _split(uri)
    if requested is None or _problem(uri) or not _is_loopback(requested):
        return False
    return any(_without_port(requested) == _without_port(own) for own in map(_split, registered) if own)


def form_action(uri: str) -> str:
    """Return the ``form-action`` of a Content-Security-Policy that allows a form to redirect to ``uri``."""
    parts = urlsplit(uri)
    # Browsers know no sources for IPv6 addresses, and none but the scheme for programs.
    if parts.scheme not in ("http", "https") or "[" in parts.netloc:
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"


def _problem(uri: str, *, tls: bool = True) -> str:
    """Return the reason why a URI cannot be registered; empty if it can be registered."""
    parts = _split(uri)
    problems = (
        (len(uri) > LONGEST, f"has more than {LONGEST} characters"),
        (not _ALLOWED.fullmatch(uri), "has characters that are not allowed ('*' and '#' among them)"),
        (parts is None or not parts.scheme, "is no absolute URI"),
    )
    problem = next((text for is_so, text in problems if is_so), "")
    return problem if problem or parts is None else _problem_of_parts(parts, tls=tls)


def _problem_of_parts(parts: SplitResult, *, tls: bool) -> str:
    if parts.scheme in _FORBIDDEN_SCHEMES:
        return "has a scheme that is not allowed"
    if parts.scheme not in ("http", "https"):
        return "" if parts.netloc or parts.path else "names nothing"
    if not parts.hostname:
        return "has no host"
    if parts.username is not None or parts.password is not None:
        return "has a user name"
    if parts.scheme == "http" and tls and not _is_loopback(parts):
        return "must be https; http is only for this device (127.0.0.1, [::1], localhost)"
    return ""


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        _ = parts.port  # raises if it is no number
    except ValueError:
        return None
    return parts


def _is_loopback(parts: SplitResult) -> bool:
    if parts.scheme != "http":
        return False
    if parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _without_port(parts: SplitResult) -> tuple[str, str | None, str, str, bool]:
    return parts.scheme, parts.hostname, parts.path, parts.query, _is_loopback(parts)
