"""A change of Litestar at run time: it hands each guard a copy of the route handler, which costs more than the guard.

Ours only read the handler. ADR 10 has the figures, ADR 14 when this module may go.
"""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler


def call_guards_without_copies() -> None:
    """Replace Litestar's call of the guards, for all apps of this process."""
    BaseRouteHandler.authorize_connection = _authorize  # type: ignore[assignment,method-assign]


async def _authorize(handler: BaseRouteHandler, connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    for guard in handler.resolve_guards():
        await guard(connection, handler)  # type: ignore[misc]
