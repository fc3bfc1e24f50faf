"""HEAD, OPTIONS and ``Allow``, which every route supports in addition to its own methods.

A route with GET also answers HEAD: with equal headers and no body. A streamed body is not produced. OPTIONS
needs no policy, because its response does not depend on the existence of the resource.
"""

import asyncio
from typing import Any

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.exceptions import MethodNotAllowedException, NotFoundException
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from litestar.utils import normalize_path

INTERNAL = "/internal"
"""Paths that exist for services only."""

_WRITTEN_BY_APP = ("path_template", "principal")
"""Entries of a scope that the app writes and the log line of the request reads."""


class RouteMethods:
    """ASGI middleware: answers HEAD from the GET route, and OPTIONS from the methods of the path."""

    def __init__(self, app: Litestar, handler: ASGIApp) -> None:
        self._app, self._handler = app, handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            if scope["method"] == "HEAD":
                await self._head(scope, receive, send)
                return
            if scope["method"] == "OPTIONS" and (methods := route_methods(self._app, scope["path"])):
                headers = [(b"allow", methods.encode()), (b"cache-control", b"max-age=3600")]
                await send({"type": "http.response.start", "status": 204, "headers": headers})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
        await self._handler(scope, receive, send)

    async def _head(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        started = False

        async def send_headers(message: Message) -> None:
            """Send the headers together with the end of the body, so a stream stops early."""
            nonlocal started
            if not started and message["type"] == "http.response.start":
                started = True
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            await asyncio.sleep(0)  # lets a stream end that never waits

        inner: Any = {**scope, "method": "GET"}
        try:
            await self._handler(inner, receive, send_headers)
        finally:
            for name in _WRITTEN_BY_APP:
                if name in inner:
                    scope[name] = inner[name]  # type: ignore[literal-required]


def route_methods(app: Litestar, path: str) -> str:
    """Return the methods of ``path`` for ``Allow``.

    It is empty if the app has no such path, or if only services may use it.
    """
    try:
        app.asgi_router.handle_routing(path=normalize_path(path), method="ANY")
    except MethodNotAllowedException as error:
        return "" if is_internal(path) else allowed(error)
    except NotFoundException:
        pass
    return ""


def allowed(error: MethodNotAllowedException) -> str:
    """Return the value of ``Allow`` for a path, after a request with another method."""
    methods = set((error.headers or {}).get("allow", "").split(", ")) - {""} | {"OPTIONS"}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def is_internal(path: str) -> bool:
    """Return whether only services may use a path."""
    first, _, _ = path.lstrip("/").partition("/")
    return f"/{first}" == INTERNAL
