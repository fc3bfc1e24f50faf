"""Serving an app: a listening socket, and uvicorn with bounded request heads and a clean drain."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

import msgspec
import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ingot_chassis.errors import CannotStart, ErrorObject
from ingot_chassis.http.drain import HEALTH_PATHS, DrainingServer
from ingot_chassis.http.health import metrics_app
from ingot_chassis.settings import ServiceSettings
from ingot_wire.server_protocol import HEAD_SECONDS, MAX_HEAD_BYTES, DrainState, server_protocol

log = structlog.get_logger()

BACKLOG = 2048
METRICS_DISTANCE = 1000
"""Distance from the HTTP port to the metrics port, unless a setting names it."""


class _Server(DrainingServer):
    """A uvicorn server that reports when it listens, and leaves signals to the owner of the event loop."""

    def __init__(
        self,
        config: uvicorn.Config,
        handover_seconds: float,
        handover_limit_seconds: float,
        on_listening: Callable[[], None],
    ) -> None:
        super().__init__(config, handover_seconds, handover_limit_seconds)
        self._on_listening = on_listening
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            gc.freeze()
            self._on_listening()

    async def main_loop(self) -> None:
        """Wait for a signal. uvicorn's own loop wakes ten times a second, for the date of responses."""
        await self._ending.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._loop.call_soon_threadsafe(self._ending.set)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises CannotStart if the address is taken or not local."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise CannotStart(
            f"cannot listen on {host}:{port}: {error}; choose another with --port or --host"
        ) from error
    listener.set_inheritable(True)
    return listener


def http_protocol(
    public_url: str, *, max_head_bytes: int = MAX_HEAD_BYTES, head_seconds: float = HEAD_SECONDS
) -> type[HttpToolsProtocol]:
    """Return the HTTP protocol of a server with these limits.

    Its errors name the API page of ``public_url``.
    """
    page = public_url.rstrip("/") + "/api/v1/swagger"

    def error_body(message: str) -> bytes:
        return msgspec.json.encode(ErrorObject(message=message, url=page))

    return server_protocol(
        error_body, max_head_bytes=max_head_bytes, head_seconds=head_seconds, uncounted_paths=HEALTH_PATHS
    )


async def serve_app(
    app: Any,
    listener: socket.socket,
    *,
    public_url: str,
    drain_seconds: int,
    handover_seconds: float = 0.0,
    handover_limit_seconds: float = 0.0,
    on_listening: Callable[[], None] = lambda: None,
    max_header_bytes: int = MAX_HEAD_BYTES,
    header_seconds: float = HEAD_SECONDS,
) -> None:
    """Serve ``app`` until SIGTERM or SIGINT, hand over, and drain.

    The handover ends when no request has arrived for ``handover_seconds``, or after
    ``handover_limit_seconds``. Running requests then have ``drain_seconds``. Until they are finished, new
    requests are answered, too. The request line and headers may have ``max_header_bytes`` together and take
    ``header_seconds``.
    """
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=http_protocol(public_url, max_head_bytes=max_header_bytes, head_seconds=header_seconds),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        proxy_headers=False,  # the peer is the client; with a header it could claim any address
        timeout_keep_alive=75,
        timeout_graceful_shutdown=drain_seconds,
    )
    server = _Server(config, handover_seconds, handover_limit_seconds, on_listening)
    await server.serve(sockets=[listener])


def metrics_socket(settings: ServiceSettings, listener: socket.socket) -> socket.socket | None:
    """Return the socket for the metrics of a process that serves on ``listener``.

    Raises CannotStart if the port of the settings is unavailable. If the default port is taken, the service
    starts without metrics: returns None and logs it.
    """
    if settings.metrics_port:
        return bound_socket(settings.metrics_host, settings.metrics_port)
    port = listener.getsockname()[1] + METRICS_DISTANCE if settings.port else 0
    try:
        return bound_socket(settings.metrics_host, port)
    except CannotStart as error:
        log.warning("no metrics", reason=str(error))
        return None


@asynccontextmanager
async def metrics_served(listener: socket.socket | None, *, public_url: str) -> AsyncIterator[None]:
    """Serve ``/metrics`` of this process on ``listener`` while the block runs, then close the socket."""
    if listener is None:
        yield
        return
    protocol = http_protocol(public_url)
    config = uvicorn.Config(
        metrics_app,
        interface="asgi3",
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
    )
    config.load()
    state = DrainState()
    server = await asyncio.get_running_loop().create_server(
        lambda: protocol(config=config, server_state=state, app_state={}), sock=listener
    )
    log.info("metrics", address=listener.getsockname())
    try:
        yield
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
