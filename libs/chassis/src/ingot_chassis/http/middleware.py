"""Telemetry of each request: its id, one log line, a server span, and metrics of rate, errors, duration."""

import time
from contextlib import AbstractContextManager, nullcontext
from random import getrandbits

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind
from prometheus_client import Counter, Histogram

from ingot_chassis.telemetry import (
    REQUESTS,
    SECONDS,
    are_spans_recorded,
    set_client_address,
    set_request_id,
    trace_context,
    tracer,
)

log = structlog.get_logger()

_UNTRACED = nullcontext(INVALID_SPAN)


class RequestTelemetry:
    """ASGI middleware; the outermost of a service."""

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
        rid = headers.get(b"x-request-id", b"").decode("latin-1")[:64] or f"{getrandbits(128):032x}"
        set_request_id(rid)
        set_client_address(headers.get(b"x-forwarded-for", b"").decode("latin-1"))
        status, rid_header = 500, (b"x-request-id", rid.encode("latin-1"))

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], rid_header]
            await send(message)

        with self._span(scope["method"], headers.get(b"traceparent")) as span:
            try:
                await self._app(scope, receive, answer)
            finally:
                route = str(scope.get("path_template") or "unmatched")
                if span.is_recording():
                    span.update_name(f"{self._service} {scope['method']} {route}")
                    span.set_attribute("http.response.status_code", status)
                if scope["path"] not in self.QUIET:
                    self._record(scope, route, status, time.perf_counter() - started)

    def _span(self, method: str, parent: bytes | None) -> AbstractContextManager[Span]:
        """Return a span, or a no-op if spans are not recorded: a span costs a tenth of a short request."""
        if parent is None and not are_spans_recorded():
            return _UNTRACED
        context = trace_context.extract({"traceparent": parent.decode("latin-1")}) if parent else None
        return tracer.start_as_current_span(
            f"{self._service} {method}", context=context, kind=SpanKind.SERVER
        )

    def _record(self, scope: HTTPScope, route: str, status: int, seconds: float) -> None:
        count, duration = self._metrics_of(route, scope["method"], status)
        count.inc()
        duration.observe(seconds)
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

    def _metrics_of(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        """Return cached series, because finding a series by its labels costs more than counting in it."""
        key = (route, method, status)
        metrics = self._series.get(key)
        if metrics is None:
            metrics = self._series[key] = (
                REQUESTS.labels(self._service, route, method, str(status)),
                SECONDS.labels(self._service, route),
            )
        return metrics
