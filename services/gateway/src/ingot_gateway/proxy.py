"""The way of a request through the gateway: admitted, routed, authenticated, forwarded."""

from collections.abc import Mapping
from typing import Any

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ingot_chassis.errors import ApiError, NotFound, TooLarge
from ingot_chassis.principal import PRINCIPAL_HEADER
from ingot_chassis.telemetry import client_span, request_id
from ingot_gateway.admission import Admitted, Headers, Limits, admit
from ingot_gateway.auth import NOBODY, Authenticator, Caller
from ingot_gateway.client_address import TrustedProxies
from ingot_gateway.credentials import presented, split_query
from ingot_gateway.errors import ErrorWriter
from ingot_gateway.exchange import Bounds, ClientGone, Exchange
from ingot_gateway.routes import OWN, Route, RouteClass, RouteTable
from ingot_gateway.upstreams import Forwarded, Upstream

log = structlog.get_logger()

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_PRINCIPAL = PRINCIPAL_HEADER.encode()
_trace_context = TraceContextTextMapPropagator()


class Door:
    """Looks at the head of every request, then sends it to the gateway's own routes or on to a service.

    It stands in front of both so that no header which only the gateway may set reaches either.
    """

    def __init__(self, limits: Limits, *, own: ASGIApp, services: ASGIApp) -> None:
        self._limits, self._own, self._services = limits, own, services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._own(scope, receive, send)
            return
        admitted = admit(scope, self._limits)
        scope["headers"] = admitted.headers
        if admitted.refusal is None and (scope["path"] in OWN or scope["path"].rstrip("/") in OWN):
            await self._own(scope, receive, send)
            return
        scope["admitted"] = admitted  # type: ignore[typeddict-unknown-key]
        await self._services(scope, receive, send)


class Proxy:
    """The services behind the door, as one ASGI app."""

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        authenticator: Authenticator,
        bounds: Mapping[RouteClass, Bounds],
        proxies: TrustedProxies,
        errors: ErrorWriter,
    ) -> None:
        self._upstreams, self._authenticator = upstreams, authenticator
        self._bounds, self._proxies, self._errors = bounds, proxies, errors
        self._table = RouteTable()

    async def __call__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        started = False

        async def noting_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._forward(scope, receive, noting_start)
        except ClientGone:
            log.info("the client left", path=scope["path"])
        except ApiError as error:
            if started:
                # The server cuts the connection of an answer that was not finished, so the client can tell.
                log.warning("the answer was cut", path=scope["path"], error=error.message)
            else:
                await self._errors.write(send, error)

    async def _forward(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        admitted: Admitted = scope["admitted"]  # type: ignore[typeddict-item]
        if admitted.refusal is not None:
            raise admitted.refusal
        route = self._table.find(scope["path"])
        if route is None:
            raise NotFound
        scope["path_template"] = route.pattern
        bounds = self._bounds[route.kind]
        if bounds.body is not None and admitted.length is not None and admitted.length > bounds.body:
            raise TooLarge
        peer, port = scope["client"] or ("", 0)
        address = self._proxies.client(peer, admitted.forwarded_for)
        query = split_query(scope["query_string"])
        credential = presented(query, admitted.authorization, admitted.sudo)
        caller = await self._authenticator.caller(credential, address) if credential else NOBODY
        changes = _changes_identity(scope["method"], route)

        def forget_unless_refused(status: int) -> None:
            if changes and status < 400:
                self._authenticator.drop(caller.user_id)

        has_body = admitted.length != 0
        try:
            async with Exchange(
                receive, send, bounds, has_body=has_body, on_status=forget_unless_refused
            ) as exchange:
                with client_span(lambda: f"{scope['method']} {route.service}"):
                    request = Forwarded(
                        method=scope["method"],
                        path=scope["path"],
                        raw_path=scope["raw_path"],
                        query=query.rest,
                        headers=_headers(admitted.headers, caller, address),
                        has_body=has_body,
                        client=(address, port if address == peer else 0),
                    )
                    await self._upstreams[route.service].forward(request, exchange)
        except (ApiError, ClientGone):
            forget_unless_refused(200)  # nobody heard the answer, but it may have happened
            raise


def _changes_identity(method: str, route: Route) -> bool:
    return route.service == "identity" and method not in SAFE


def _headers(admitted: Headers, caller: Caller, address: str) -> Headers:
    """What a service gets: what passed the door, and what the gateway itself says."""
    replaced: dict[str, Any] = {"x-request-id": request_id()}
    _trace_context.inject(replaced)
    names = {name.encode() for name in replaced}
    headers = [header for header in admitted if header[0] not in names]
    headers += [(name.encode(), value.encode()) for name, value in replaced.items()]
    headers.append((b"x-forwarded-for", address.encode()))
    if caller.statement:
        headers.append((_PRINCIPAL, caller.statement.encode()))
    return headers
