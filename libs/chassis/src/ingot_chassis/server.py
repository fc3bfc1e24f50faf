"""Running a process: uvicorn with a clean drain, the commands of a service, and errors an operator can read."""

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import structlog
import uvicorn

from ingot_chassis.keys import KeyUnreadable
from ingot_chassis.migrations import DatabaseNewer, pending, upgrade
from ingot_chassis.settings import ServiceSettings, SettingsError, load
from ingot_chassis.telemetry import configure_logging, configure_tracing

log = structlog.get_logger()

_S = TypeVar("_S", bound=ServiceSettings)
SCHEMA_POLL_SECONDS = 1.0


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
    drain_seconds: int,
    on_listening: Callable[[], None] = lambda: None,
    max_header_bytes: int = 32_768,
) -> None:
    """Serve ``app`` until SIGTERM or SIGINT; then finish what runs, within ``drain_seconds``."""
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http="httptools",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        proxy_headers=False,  # the peer is the client; a header would let it claim to be anybody
        timeout_keep_alive=75,
        timeout_graceful_shutdown=drain_seconds,
        h11_max_incomplete_event_size=max_header_bytes,
    )
    await _Server(config, on_listening).serve(sockets=[listener])


def run_command(main: Callable[[], Awaitable[None]]) -> None:
    """Run ``main`` on uvloop. What an operator can mend ends in one line and exit code 2."""
    import uvloop

    try:
        uvloop.run(main())  # type: ignore[arg-type]
    except SettingsError as error:
        sys.exit(_told(*error.lines))
    except (CannotStart, DatabaseNewer, KeyUnreadable) as error:
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
    """The command ``ingot-<service> serve|work|migrate``."""
    import argparse

    parser = argparse.ArgumentParser(prog=f"ingot-{service}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer HTTP, and run the background work unless settings say not to")
    if scripts is not None:
        commands.add_parser("work", help="run the background work only")
        commands.add_parser("migrate", help="bring the database to this release and end")
    command = parser.parse_args(arguments).command

    async def main() -> None:
        settings = load(settings_class, service, os.environ)
        configure_logging(settings.log_level)
        configure_tracing(service, settings.otlp_endpoint)
        if command == "migrate" and scripts is not None:
            await upgrade(settings.database_url, scripts)
            return
        listener = bound_socket(settings.host, settings.port)
        if scripts is not None:
            await _schema_ready(settings.database_url, scripts)
        if command == "work":
            settings.background = True
        app = create_app(settings)
        await serve_app(
            app,
            listener,
            drain_seconds=settings.drain_seconds,
            on_listening=lambda: log.info("listening", service=service, address=listener.getsockname()),
        )

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command(main)


async def _schema_ready(url: str, scripts: Path) -> None:
    """Wait for the migration of this release. Raises DatabaseNewer."""
    while await pending(url, scripts):
        log.warning("the database is older than this release; waiting for `migrate`")
        await asyncio.sleep(SCHEMA_POLL_SECONDS)
