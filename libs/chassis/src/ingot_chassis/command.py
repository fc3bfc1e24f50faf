"""The command of a service: serve, work, migrate, replay, doctor. Each error is one line for an operator."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import structlog

from ingot_chassis.errors import CannotStart
from ingot_chassis.freed_memory import keep_freed_memory
from ingot_chassis.garbage import no_collection
from ingot_chassis.http.drain import HEALTH_PATHS
from ingot_chassis.http.server import bound_socket, metrics_served, metrics_socket, serve_app
from ingot_chassis.security.keys import KeyUnreadable
from ingot_chassis.service import ServiceParts
from ingot_chassis.settings import ServiceSettings, SettingsError, load
from ingot_chassis.telemetry import configure_logging, configure_tracing

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

log = structlog.get_logger()

_S = TypeVar("_S", bound=ServiceSettings)


@dataclass(frozen=True)
class CommandGroup(Generic[_S]):
    """A command with subcommands or arguments. ``configure`` adds them to its parser."""

    purpose: str
    configure: "Callable[[ArgumentParser], None]"
    run: "Callable[[_S, Namespace], Awaitable[None]]"


class StartupSignals:
    """Handles Ctrl-C and SIGTERM during startup: everything that was started is stopped in order."""

    def __init__(self) -> None:
        self._over = False

    def hand_over(self) -> None:
        """Let the server handle signals from now on.

        The server raises them again after it has ended. This class then ignores them.
        """
        self._over = True

    @contextlib.contextmanager
    def handled(self) -> Iterator[Self]:
        """Handle signals inside the block. Enter it in the task that starts the service.

        A signal ends the block without an error. The process then ends with code 0.
        """
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def stop(*_: object) -> None:
            if task is not None and not self._over:
                loop.call_soon_threadsafe(task.cancel)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        with contextlib.suppress(asyncio.CancelledError):
            yield self


def run_command(main: Callable[[], Awaitable[None]]) -> None:
    """Run ``main`` on uvloop. Errors that an operator can fix are printed in one line, with exit code 2."""
    import uvloop

    keep_freed_memory()
    try:
        with single_errors():
            uvloop.run(main())  # type: ignore[arg-type]
    except SettingsError as error:
        sys.exit(_print_errors(*error.lines))
    except (CannotStart, KeyUnreadable, OSError) as error:
        sys.exit(_print_errors(str(error)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)


@contextlib.contextmanager
def single_errors() -> Iterator[None]:
    """Unwrap exception groups with a single error, such as errors from the lifespan of an app."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            (error,) = error.exceptions
        raise error from error.__cause__


def _print_errors(*lines: str) -> int:
    for line in lines:
        print(f"ingot: {line}", file=sys.stderr)  # noqa: T201 - this is the operator's one line
    return 2


def service_main(
    service: str,
    settings_class: type[_S],
    *,
    scripts: Path | None,
    more: Mapping[str, tuple[str, Callable[[_S], Awaitable[None]]]] | None = None,
    groups: Mapping[str, CommandGroup[_S]] | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Run the command ``ingot-<service> serve|work|migrate|replay|doctor``.

    Commands import ``create_app`` of ``ingot_<service>.app`` only if they need it, because this takes a
    second or two. ``more``: further commands of the service, with their help and function. A signal cancels
    the function. ``groups``: commands with subcommands or arguments.
    """
    import argparse

    parser = argparse.ArgumentParser(prog=f"ingot-{service}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="serve HTTP, and run the background work unless settings disable it")
    if scripts is not None:
        commands.add_parser("work", help="run the background work only")
        commands.add_parser("migrate", help="migrate the database to this release")
        commands.add_parser("replay", help="apply and send dead-lettered events again")
    doctor = commands.add_parser("doctor", help="report problems, each with its cure")
    doctor.add_argument("--repair", action="store_true", help="repair problems if possible")
    _add_own_commands(commands, more or {}, groups or {})
    options = parser.parse_args(arguments)
    command = options.command

    async def main() -> None:
        settings = load(settings_class, service, os.environ)
        configure_logging(settings.log_level)
        configure_tracing(service, settings.otlp_endpoint)
        with StartupSignals().handled() as signals:
            if "run" in options:
                await options.run(settings, options)
                return
            settings.background = command == "work" or (settings.background and command == "serve")
            # Before most of the code is imported. Clients then wait for the response instead of being
            # refused, and early probes of a node succeed a little later.
            listening = command in ("serve", "work")
            listener = bound_socket(settings.host, settings.port) if listening else None
            # A service without a database starts faster and needs less memory without these imports.
            if scripts is not None:
                with no_collection():
                    from ingot_chassis import database_commands
            if command == "migrate" and scripts is not None:
                await database_commands.migrate(settings.database_url, scripts)
                return
            with no_collection():
                app = import_module(f"ingot_{service}.app").create_app(settings)
            if command == "replay":
                await database_commands.replay_events(app)
                return
            if listener is None:
                await _examine(app, scripts, repair=options.repair)
                return
            async with metrics_served(metrics_socket(settings, listener), public_url=settings.public_url):
                if scripts is not None:
                    await database_commands.wait_for_schema(settings.database_url, scripts)
                signals.hand_over()
                await serve_app(
                    HealthOnly(app) if command == "work" else app,
                    listener,
                    public_url=settings.public_url,
                    drain_seconds=settings.drain_seconds,
                    handover_seconds=settings.handover_seconds,
                    handover_limit_seconds=settings.handover_limit_seconds,
                    on_listening=lambda: log.info(
                        "listening", service=service, address=listener.getsockname()
                    ),
                )

    run_command(main)


async def _examine(app: Any, scripts: Path | None, *, repair: bool) -> None:
    """Print the problems of a service with their cures.

    Raises CannotStart for a problem or an unusable database, and DatabaseNewer.
    """
    parts: ServiceParts = app.state.parts
    if scripts is None:
        async with app.lifespan():
            findings = await parts.examine(repair=repair)
    else:
        from ingot_chassis import database_commands

        # before other parts of the service use the database
        await database_commands.require_schema(parts, scripts)
        async with app.lifespan():
            findings = await database_commands.find_problems(parts, repair=repair)
    for line in findings or [f"{parts.name}: nothing is wrong"]:
        print(line)  # noqa: T201 - this is what the operator asked for
    if findings:
        raise CannotStart(f"{parts.name} needs attention; docs/how-to/runbook.md says more")


def _add_own_commands(
    commands: Any,
    more: Mapping[str, tuple[str, Callable[[_S], Awaitable[None]]]],
    groups: Mapping[str, CommandGroup[_S]],
) -> None:
    """Add the service's own commands to the parser.

    The parsed option ``run`` is the function of the command.
    """
    for name, (purpose, run) in more.items():
        commands.add_parser(name, help=purpose).set_defaults(run=lambda settings, _, run=run: run(settings))
    for name, group in groups.items():
        parser = commands.add_parser(name, help=group.purpose)
        group.configure(parser)
        parser.set_defaults(run=group.run)


class HealthOnly:
    """An app that answers only health routes, for a process with only background work."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] not in HEALTH_PATHS:
            scope = {**scope, "path": "/", "raw_path": b"/"}
        await self._app(scope, receive, send)
