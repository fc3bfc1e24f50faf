"""A collector of traces: takes what OTLP over HTTP brings and keeps it in memory."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE = 60.0


@dataclass(frozen=True)
class Span:
    """One span as it was told. ``parent`` is empty for the first of a trace."""

    process: str
    name: str
    trace: str
    id: str
    parent: str


class Collector:
    """Every span that arrived, and a way to wait for more."""

    def __init__(self, url: str) -> None:
        self.variables = {"INGOT_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        self._spans: list[Span] = []
        self._arrived = threading.Condition()

    def take(self, body: bytes) -> None:
        export = ExportTraceServiceRequest.FromString(body)
        with self._arrived:
            for resource in export.resource_spans:
                process = {a.key: a.value.string_value for a in resource.resource.attributes}["service.name"]
                self._spans += [
                    Span(
                        process,
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                    )
                    for scope in resource.scope_spans
                    for span in scope.spans
                ]
            self._arrived.notify_all()

    def trace_of(self, root: str, until: frozenset[str]) -> list[Span]:
        """Wait for the spans ``until`` of the trace that begins with ``root``. Return its spans so far."""
        with self._arrived:
            self._arrived.wait_for(
                lambda: any(until <= _names(trace) for trace in self._traces(root)), PATIENCE
            )
            traces = self._traces(root)
        assert traces, f"no trace begins with {root}"
        return max(traces, key=lambda trace: len(until & _names(trace)))

    def _traces(self, root: str) -> list[list[Span]]:
        begun = [span.trace for span in self._spans if span.name == root and not span.parent]
        return [[span for span in self._spans if span.trace == trace] for trace in begun]


def _names(trace: list[Span]) -> set[str]:
    return {span.name for span in trace}


def _is_whole(trace: list[Span]) -> bool:
    return {span.parent for span in trace} <= {"", *(span.id for span in trace)}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: the tests look at what arrived."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}/v1/traces")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
