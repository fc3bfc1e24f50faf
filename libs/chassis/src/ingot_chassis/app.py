"""The app of a service: one way to build it, with health, metrics, logging, error rendering and background loops."""

import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog
from litestar import Litestar, Response, get
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.enums import ScopeType
from litestar.handlers.base import BaseRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from opentelemetry import propagate
from opentelemetry.trace import SpanKind
from prometheus_client import Counter, Histogram, generate_latest
from sqlalchemy import text

from ingot_chassis import policy
from ingot_chassis.body import ApiRequest
from ingot_chassis.bus import Bus
from ingot_chassis.database import Database
from ingot_chassis.inbox import Consumers, Subscriptions
from ingot_chassis.loops import Loop, running
from ingot_chassis.peers import Peers
from ingot_chassis.principal import PrincipalVerifier, ServiceVerifier
from ingot_chassis.rendering import Translations, exception_handlers
from ingot_chassis.settings import ServiceSettings
from ingot_chassis.telemetry import REQUESTS, SECONDS, set_client_address, set_request_id, tracer

log = structlog.get_logger()

Check = Callable[[], Awaitable[str]]
"""Says in words why the service is not ready, or nothing."""


@dataclass
class Parts:
    """What a service is made of.

    ``start`` runs before the first request and ``close`` after the last one. Beside the requests run
    ``listeners``, which keep what this process remembers fresh, and ``loops``, the background work that
    another process may do instead.
    """

    name: str
    settings: ServiceSettings
    principal_verifier: PrincipalVerifier
    service_verifier: ServiceVerifier
    database: Database | None = None
    bus: Bus | None = None
    owns_bus: bool = True
    peers: Peers = field(default_factory=Peers)
    start: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    listeners: list[tuple[str, Loop]] = field(default_factory=list)
    loops: list[tuple[str, Loop]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    close: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    consumers: Consumers | None = None

    def subscribe(self, subscriptions: Subscriptions) -> None:
        """Apply events of other services, as background work; for a service with a database and a bus."""
        if self.bus is None:
            raise LookupError(f"{self.name} has no bus")
        self.consumers = Consumers(self.name, self.require_database(), self.bus, subscriptions)
        self.loops += self.consumers.loops()

    def require_database(self) -> Database:
        """The database of a service that has one."""
        if self.database is None:
            raise LookupError(f"{self.name} has no database")
        return self.database


def service_app(
    parts: Parts,
    *,
    routes: Sequence[Any],
    request_class: type[ApiRequest] = ApiRequest,
    state: dict[str, Any] | None = None,
    max_body: int = 10_000_000,
    translations: Translations | None = None,
) -> Litestar:
    """The Litestar app of a service. ``max_body`` bytes limits every body that a route does not exempt."""
    app = Litestar(
        route_handlers=[*routes, livez, readyz, metrics, openapi_document],
        request_class=request_class,
        guards=[policy.enforce],
        exception_handlers=exception_handlers(parts.name, parts.settings.public_url, translations or {}),
        lifespan=[_living],
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
    app.asgi_handler = Edge(app.asgi_handler, parts.name)
    return app


@asynccontextmanager
async def _living(app: Litestar) -> AsyncIterator[None]:
    parts: Parts = app.state.parts
    try:
        for start in parts.start:
            await start()
        async with running([*parts.listeners, *(parts.loops if parts.settings.background else [])]):
            yield
    finally:
        await _close(parts)


async def _close(parts: Parts) -> None:
    for close in parts.close:
        await close()
    await parts.peers.close()
    if parts.bus is not None and parts.owns_bus:
        await parts.bus.close()
    if parts.database is not None:
        await parts.database.close()


async def _authorize(handler: BaseRouteHandler, connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """Litestar hands each guard a copy of the handler, which costs more than the guard; ours only read it."""
    for guard in handler.resolve_guards():
        await guard(connection, handler)  # type: ignore[misc]


BaseRouteHandler.authorize_connection = _authorize  # type: ignore[assignment,method-assign]


class Edge:
    """Around every request: its id, one log line, RED metrics, a server span."""

    QUIET = ("/livez", "/readyz", "/metrics")

    def __init__(self, app: ASGIApp, service: str) -> None:
        self._app, self._service = app, service
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = dict(scope["headers"])
        rid = headers.get(b"x-request-id", b"").decode("latin-1")[:64] or secrets.token_hex(16)
        set_request_id(rid)
        set_client_address(headers.get(b"x-forwarded-for", b"").decode("latin-1"))
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", rid.encode("latin-1"))]
            await send(message)

        parent = headers.get(b"traceparent")
        context = propagate.extract({"traceparent": parent.decode("latin-1")}) if parent else None
        with tracer.start_as_current_span(
            f"{self._service} {scope['method']}", context=context, kind=SpanKind.SERVER
        ) as span:
            try:
                await self._app(scope, receive, answer)
            finally:
                route = str(scope.get("path_template") or "unmatched")
                span.update_name(f"{self._service} {scope['method']} {route}")
                span.set_attribute("http.response.status_code", status)
                if scope["path"] not in self.QUIET:
                    self._record(scope, route, status, time.perf_counter() - started)

    def _record(self, scope: HTTPScope, route: str, status: int, seconds: float) -> None:
        counted, timed = self._kept_series(route, scope["method"], status)
        counted.inc()
        timed.observe(seconds)
        principal = scope.get("principal")
        log.info(
            "request",
            service=self._service,
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 1),
            user=getattr(principal, "name", "") or None,
            sudo_by=getattr(principal, "sudo_by", "") or None,
        )

    def _kept_series(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        """Looking up a series by its labels costs more than counting in it."""
        key = (route, method, status)
        kept = self._series.get(key)
        if kept is None:
            kept = self._series[key] = (
                REQUESTS.labels(self._service, route, method, str(status)),
                SECONDS.labels(self._service, route),
            )
        return kept


@get("/livez", policy=policy.anyone(), include_in_schema=False, media_type="text/plain")
async def livez() -> str:
    """The process runs."""
    return "ok"


@get("/readyz", policy=policy.anyone(), include_in_schema=False)
async def readyz(state: State) -> Response[str]:
    """The process can serve: its own database answers. Never asks another service, or failures would spread."""
    parts: Parts = state.parts
    problems = []
    if parts.database is not None:
        try:
            async with parts.database.read() as db:
                await db.execute(text("SELECT 1"))
        except Exception as error:  # noqa: BLE001 - whatever the driver raises means not ready
            problems.append(f"database: {type(error).__name__}")
    problems += [problem for check in parts.checks if (problem := await check())]
    told = "; ".join(problems) or "ready"
    return Response(told, status_code=503 if problems else 200, media_type="text/plain")


@get("/metrics", policy=policy.anyone(), include_in_schema=False, media_type="text/plain; version=0.0.4")
async def metrics() -> bytes:
    """Prometheus metrics of the process."""
    return generate_latest()


@get("/internal/openapi.json", policy=policy.services("gateway"), include_in_schema=False)
async def openapi_document(request: ApiRequest) -> Response[bytes]:
    """The description of the public routes of this service."""
    return Response(msgspec.json.encode(described(request.app)), media_type="application/json")


def described(app: Litestar) -> dict[str, Any]:
    """The OpenAPI description of ``app``.

    Litestar 2.25 enters path parameters that a handler does not take into the handler's own signature while it
    describes it; later requests would then be told that these are missing. So signatures are put back.
    """
    handlers = {
        handler for route in app.routes if isinstance(route, HTTPRoute) for handler in route.route_handlers
    }
    signatures = [
        (handler.parsed_fn_signature.parameters, dict(handler.parsed_fn_signature.parameters))
        for handler in handlers
    ]
    try:
        return app.openapi_schema.to_schema()
    finally:
        for live, before in signatures:
            live.clear()
            live.update(before)
