"""Builds the app of a service with health, metrics, logging, errors and background loops."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types import Message, Scope

from ingot_chassis.http import policy
from ingot_chassis.http.error_responses import Translations, exception_handlers
from ingot_chassis.http.health import livez, metrics, readyz
from ingot_chassis.http.methods import RouteMethods
from ingot_chassis.http.middleware import RequestTelemetry
from ingot_chassis.http.openapi import list_operations, openapi_document
from ingot_chassis.http.request import ApiRequest
from ingot_chassis.http.tasks import list_tasks, run_task
from ingot_chassis.jobs.loops import running
from ingot_chassis.patches import litestar_guards, litestar_routes
from ingot_chassis.service import ServiceParts

litestar_guards.call_guards_without_copies()
litestar_routes.call_plain_handlers_directly()


def service_app(
    parts: ServiceParts,
    *,
    routes: Sequence[Any],
    request_class: type[ApiRequest] = ApiRequest,
    state: dict[str, Any] | None = None,
    max_body: int = 10_000_000,
    translations: Translations | None = None,
    error_pages: Mapping[Any, Any] | None = None,
    before_send: Sequence[Callable[[Message, Scope], Awaitable[None]]] = (),
) -> Litestar:
    """Return the Litestar app of a service. ``max_body`` limits bodies, in bytes, unless a route is exempt.

    ``error_pages`` are error handlers that replace the error object. ``before_send`` is called with each
    message of a response and the scope of its request.
    """
    optional = [metrics] if parts.settings.metrics_public else []
    meanings = {**(translations or {})}
    if parts.database is not None:
        # A service without a database starts faster and needs less memory without these imports.
        from ingot_chassis.http.database_errors import DATABASE_ERRORS
        from ingot_chassis.http.database_routes import database_routes

        optional += database_routes(parts.database)
        meanings = {**DATABASE_ERRORS, **meanings}
    handlers = [*routes, livez, readyz, *optional, openapi_document, list_operations, list_tasks, run_task]
    app = Litestar(
        # One router: Litestar goes through all routes again for each route that an app is given.
        route_handlers=[Router("/", route_handlers=handlers)],
        request_class=request_class,
        guards=[policy.enforce],
        exception_handlers={
            **exception_handlers(parts.name, parts.settings.public_url, meanings),
            **(error_pages or {}),
        },
        before_send=list(before_send),
        lifespan=[_lifespan],
        request_max_body_size=max_body,
        openapi_config=OpenAPIConfig(
            title=f"Ingot {parts.name}",
            version="1.1.1",
            path="/internal/described",
            render_plugins=[JsonRenderPlugin(path="/never")],
            use_handler_docstrings=True,
        ),
        state=State(
            {
                "settings": parts.settings,
                "database": parts.database,
                "principal_verifier": parts.principal_verifier,
                "service_verifier": parts.service_verifier,
                "peers": parts.peers,
                "parts": parts,
                **(state or {}),
            }
        ),
        logging_config=None,
        debug=False,
    )
    app.asgi_handler = RequestTelemetry(RouteMethods(app, app.asgi_handler), parts.name)
    return app


@asynccontextmanager
async def _lifespan(app: Litestar) -> AsyncIterator[None]:
    parts: ServiceParts = app.state.parts
    try:
        for start in parts.start:
            await start()
        async with running(parts.running()):
            yield
    finally:
        await _close(parts)


async def _close(parts: ServiceParts) -> None:
    for close in parts.close:
        await close()
    await parts.peers.close()
    if parts.owns_bus:
        await parts.bus.close()
    if parts.database is not None:
        await parts.database.close()
