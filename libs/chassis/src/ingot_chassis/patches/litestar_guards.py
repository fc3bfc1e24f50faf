"""Patch of Litestar 2.25: call guards with the handler itself.

Litestar copies the route handler for each guard of each request. That costs 12 µs, more than the guard. Our
guards only read the handler. Remove the patch when Litestar passes the handler without a copy (ADR 14).
"""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

authorize_with_copies = BaseRouteHandler.authorize_connection
"""The method of Litestar that the patch replaces."""


def call_guards_without_copies() -> None:
    """Replace Litestar's call of the guards in all apps of this process."""
    BaseRouteHandler.authorize_connection = _authorize  # type: ignore[assignment,method-assign]


async def _authorize(handler: BaseRouteHandler, connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    for guard in handler.resolve_guards():
        await guard(connection, handler)  # type: ignore[misc]
