"""A request into the ASGI app of another service in the same process."""

from collections.abc import Awaitable, Callable
from typing import Any

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
IN_PROCESS = ("in-process", 0)
"""The address of a client or server without a socket."""


def http_scope(
    method: str,
    *,
    path: str,
    raw_path: bytes,
    query: bytes,
    headers: list[tuple[bytes, bytes]],
    client: tuple[str, int] = IN_PROCESS,
) -> dict[str, Any]:
    """Return the ASGI scope of a request. ``path`` is decoded, ``raw_path`` is not.

    Header names are in lower case.
    """
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": client,
        "server": IN_PROCESS,
        "state": {},
    }
