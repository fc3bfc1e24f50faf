"""Telemetry of a process: structured logs, traces, metrics.

Logs are JSON lines with the request id and, inside a span, the trace id. Traces go to the OTLP endpoint of
the settings. Without an endpoint spans are not recorded and cost almost nothing.
"""

import asyncio
import atexit
import contextlib
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

REQUESTS = Counter("ingot_requests_total", "Requests", ["service", "route", "method", "status"])
SECONDS = Histogram(
    "ingot_request_seconds",
    "Time from request to the end of the answer",
    ["service", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
)

_request_id: ContextVar[str] = ContextVar("request_id", default="")
_client_address: ContextVar[str] = ContextVar("client_address", default="")
tracer = trace.get_tracer("ingot")
trace_context = TraceContextTextMapPropagator()
_UNTRACED = nullcontext()
_encoder = msgspec.json.Encoder(enc_hook=repr)


def request_id() -> str:
    """Return the id of the current request; empty outside a request."""
    return _request_id.get()


def set_request_id(value: str) -> None:
    _request_id.set(value)


def client_address() -> str:
    """Return the client's address from the gateway; empty outside a request and without a gateway."""
    return _client_address.get()


def set_client_address(value: str) -> None:
    _client_address.set(value)


class LogLines:
    """Buffers log lines and writes them after ``PAUSE`` seconds.

    Lines of level ``warning`` or higher, and lines outside an event loop, are written at once. Every request
    logs a line, and a write per line would cost a fifth of the request.
    """

    PAUSE = 0.05

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._lines, self._lock = file, list[bytes](), Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop that will write the buffer, if one is scheduled."""

    def info(self, line: bytes) -> None:
        self._lines.append(line + b"\n")
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.write_out()
            return
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(self.PAUSE, self.write_out)

    debug = info

    def warning(self, line: bytes) -> None:
        self._lines.append(line + b"\n")
        self.write_out()

    error = critical = warning

    def write_out(self) -> None:
        """Write the buffer.

        If this fails, the lines are lost, because a failing log must not stop the caller.
        """
        with self._lock:
            self._loop = None
            lines, self._lines = self._lines, []
            with contextlib.suppress(OSError):
                self._file.write(b"".join(lines))
                self._file.flush()


def configure_logging(level: str = "info", *, readable: bool = False) -> None:
    """Send all logs of the process to stderr, as JSON lines or, if ``readable``, as coloured text."""
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    lines = LogLines(sys.stderr.buffer)
    atexit.register(lines.write_out)
    console = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(),
        # rich, if it is installed, would show values of variables in tracebacks, including secrets.
        exception_formatter=structlog.dev.plain_traceback,
    )
    structlog.configure(
        processors=[_complete, console if readable else _json_line],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr) if readable else lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processor=console if readable else structlog.processors.JSONRenderer(),
            foreign_pre_chain=[_complete],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(number, logging.WARNING))


def _json_line(_logger: Any, _name: str, event: Any) -> bytes:
    """Encode a line with the faster encoder, because every request writes one.

    The slower encoder is used for text that is not UTF-8.
    """
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError:
        return json.dumps(event, default=repr).encode()


def _complete(_logger: Any, level: str, event: Any) -> Any:
    """Add level, time, and ids of request and trace.

    One function does all, because every request logs a line.
    """
    event["level"] = level
    event["timestamp"] = f"{datetime.fromtimestamp(time.time(), UTC).replace(tzinfo=None).isoformat()}Z"
    if rid := _request_id.get():
        event["request_id"] = rid
    span = trace.get_current_span().get_span_context()
    if span.is_valid:
        event["trace_id"] = format(span.trace_id, "032x")
    return structlog.processors.format_exc_info(_logger, level, event) if "exc_info" in event else event


def configure_tracing(service: str, endpoint: str) -> None:
    """Record spans and send them to the OTLP/HTTP ``endpoint``. Do nothing if it is empty."""
    if not endpoint:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    record_spans(service, OTLPSpanExporter(endpoint=endpoint))


class _Recording:
    """A flag that is set while this process records spans."""

    on = False


def are_spans_recorded() -> bool:
    """Return whether this process records spans."""
    return _Recording.on


def record_spans(service: str, exporter: "SpanExporter") -> None:
    """Record the spans of this process and send them to ``exporter``."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": f"ingot-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _Recording.on = True


@contextmanager
def continue_span(name: str, traceparent: str | None, kind: SpanKind = SpanKind.INTERNAL) -> Iterator[None]:
    """Start a span that continues the trace of ``traceparent`` (W3C Trace Context)."""
    if traceparent is None and not _Recording.on:
        yield
        return
    with tracer.start_as_current_span(name, context=_context_of(traceparent), kind=kind):
        yield


def start_span(name: str, traceparent: str | None = None, kind: SpanKind = SpanKind.CLIENT) -> Span:
    """Start a span that the caller must ``end``, below the current span or below ``traceparent``."""
    return tracer.start_span(name, context=_context_of(traceparent), kind=kind)


def client_span(name: Callable[[], str]) -> AbstractContextManager[object]:
    """Return a span around a request to another process.

    If spans are not recorded, ``name`` is not called.
    """
    if not _Recording.on or not trace.get_current_span().is_recording():
        return _UNTRACED
    return tracer.start_as_current_span(name(), kind=SpanKind.CLIENT)


def _context_of(traceparent: str | None) -> Context | None:
    return trace_context.extract({"traceparent": traceparent}) if traceparent else None
