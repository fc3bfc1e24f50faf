"""Running a process: uvicorn with a clean drain, the commands of a service, and errors an operator can read."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import structlog
import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from ingot_chassis.app import Parts
from ingot_chassis.keys import KeyUnreadable
from ingot_chassis.migrations import DatabaseNewer, pending, upgrade
from ingot_chassis.protocol import HEAD_SECONDS, MAX_HEAD_BYTES, bounded_http
from ingot_chassis.replay import replay
from ingot_chassis.settings import ServiceSettings, SettingsError, load
from ingot_chassis.telemetry import configure_logging, configure_tracing

log = structlog.get_logger()

_S = TypeVar("_S", bound=ServiceSettings)
SCHEMA_POLL_SECONDS = 1.0
BACKLOG = 2048


class CannotStart(Exception):
    """One line that tells an operator what to do; the process ends with code 2."""


class _Server(uvicorn.Server):
    """uvicorn that says when it listens and lets the event loop's owner handle signals."""

    def __init__(self, config: uvicorn.Config, on_listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            gc.collect()
            gc.freeze()
            self._on_listening()


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket. Raises CannotStart if the address is taken or not ours."""
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


async def serve_app(
    app: Any,
    listener: socket.socket,
    *,
    public_url: str,
    drain_seconds: int,
    on_listening: Callable[[], None] = lambda: None,
    max_header_bytes: int = MAX_HEAD_BYTES,
    header_seconds: float = HEAD_SECONDS,
) -> None:
    """Serve ``app`` until SIGTERM or SIGINT; then finish what runs, within ``drain_seconds``.

    The request line and headers may have ``max_header_bytes`` together and take ``header_seconds``.
    """
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=bounded_http(public_url, max_header_bytes, header_seconds),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        proxy_headers=False,  # the peer is the client; a header would let it claim to be anybody
        timeout_keep_alive=75,
        timeout_graceful_shutdown=drain_seconds,
    )
    await _Server(config, on_listening).serve(sockets=[listener])


class Starting:
    """Ctrl-C and SIGTERM before the server listens to them: whatever is started by then is stopped in order."""

    def __init__(self) -> None:
        self._over = False

    def is_over(self) -> None:
        """From here the server handles signals; it sends them once more when it has ended, for nobody."""
        self._over = True

    @contextlib.contextmanager
    def can_be_stopped(self) -> Iterator[Self]:
        """Enter it in the task that starts; a signal ends the block quietly, and the process with code 0."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def stop(*_: object) -> None:
            if task is not None and not self._over:
                loop.call_soon_threadsafe(task.cancel)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        with contextlib.suppress(asyncio.CancelledError):
            yield self


def run_command(main: Callable[[], Awaitable[None]]) -> None:
    """Run ``main`` on uvloop. What an operator can mend ends in one line and exit code 2."""
    import uvloop

    try:
        uvloop.run(main())  # type: ignore[arg-type]
    except SettingsError as error:
        sys.exit(_told(*error.lines))
    except (CannotStart, DatabaseNewer, KeyUnreadable, OSError) as error:
        sys.exit(_told(str(error)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)


def _told(*lines: str) -> int:
    for line in lines:
        print(f"ingot: {line}", file=sys.stderr)  # noqa: T201 - this is the operator's one line
    return 2


def service_main(
    service: str,
    settings_class: type[_S],
    create_app: Callable[[_S], Any],
    *,
    scripts: Path | None,
    arguments: Sequence[str] | None = None,
) -> None:
    """The command ``ingot-<service> serve|work|migrate|replay``."""
    import argparse

    parser = argparse.ArgumentParser(prog=f"ingot-{service}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer HTTP, and run the background work unless settings say not to")
    if scripts is not None:
        commands.add_parser("work", help="run the background work only")
        commands.add_parser("migrate", help="bring the database to this release and end")
        commands.add_parser("replay", help="apply events once more that were put aside, and end")
    command = parser.parse_args(arguments).command

    async def main() -> None:
        settings = load(settings_class, service, os.environ)
        configure_logging(settings.log_level)
        configure_tracing(service, settings.otlp_endpoint)
        with Starting().can_be_stopped() as starting:
            if command == "migrate" and scripts is not None:
                await _migrated(settings.database_url, scripts)
                return
            settings.background = (settings.background and command != "replay") or command == "work"
            app = create_app(settings)
            if command == "replay":
                await _replayed(app)
                return
            listener = bound_socket(settings.host, settings.port)
            if scripts is not None:
                await _schema_ready(settings.database_url, scripts)
            starting.is_over()
            await serve_app(
                HealthOnly(app) if command == "work" else app,
                listener,
                public_url=settings.public_url,
                drain_seconds=settings.drain_seconds,
                on_listening=lambda: log.info("listening", service=service, address=listener.getsockname()),
            )

    run_command(main)


class HealthOnly:
    """An app of which only the health routes answer: what a process that only works in the background serves."""

    ROUTES = ("/livez", "/readyz", "/metrics")

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] not in self.ROUTES:
            scope = {**scope, "path": "/", "raw_path": b"/"}
        await self._app(scope, receive, send)


async def _migrated(url: str, scripts: Path) -> None:
    """Raises CannotStart when the database cannot be used, DatabaseNewer."""
    try:
        await upgrade(url, scripts)
    except (OSError, SQLAlchemyError) as error:
        raise CannotStart(f"cannot use the database: {_short(error)}") from error


async def _replayed(app: Any) -> None:
    """Raises CannotStart when the database cannot be used, or events stay put aside."""
    parts: Parts = app.state.parts
    async with app.lifespan():
        if parts.consumers is None:
            raise CannotStart(f"{parts.name} hears no events")
        try:
            applied, left = await replay(parts.require_database(), parts.consumers)
        except (OSError, SQLAlchemyError) as error:
            raise CannotStart(f"cannot use the database: {_short(error)}") from error
    print(f"{applied} applied, {left} left")  # noqa: T201 - this is what the operator asked for
    if left:
        raise CannotStart("events stay put aside; the log says why")


async def _schema_ready(url: str, scripts: Path) -> None:
    """Wait for the database, and for the migration of this release. Raises DatabaseNewer."""
    while True:
        try:
            if not await pending(url, scripts):
                return
            log.warning("the database is older than this release; waiting for `migrate`")
        except (OSError, SQLAlchemyError) as error:
            log.warning("the database does not answer; waiting", error=_short(error))
        await asyncio.sleep(SCHEMA_POLL_SECONDS)


def _short(error: Exception) -> str:
    """The first line; SQLAlchemy adds the statement and a link."""
    return str(getattr(error, "orig", None) or error).split("\n", 1)[0]
