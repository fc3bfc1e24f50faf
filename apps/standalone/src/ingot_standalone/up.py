"""`ingot up`: start everything on one data folder, serve until told to stop, stop everything."""

import contextlib
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy.exc import DatabaseError

from ingot_chassis.bus import Bus
from ingot_chassis.migrations import DatabaseNewer, upgrade
from ingot_chassis.nats_server import NatsServer, NatsUnavailable
from ingot_chassis.server import CannotStart, Starting, bound_socket, serve_app
from ingot_chassis.telemetry import configure_logging, configure_tracing
from ingot_standalone import accounts
from ingot_standalone.composed import Composed
from ingot_standalone.console import say
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.services import SCHEMAS, Services
from ingot_standalone.settings import Settings


async def up(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. Raises CannotStart or SettingsError."""
    os.umask(0o077)
    configure_logging(settings.log_level, readable=sys.stderr.isatty())
    configure_tracing("standalone", settings.otlp_endpoint)
    with Starting().can_be_stopped() as starting:
        folder = DataFolder(settings.folder)
        with contextlib.closing(bound_socket(settings.host, settings.port)) as listener, folder.in_use():
            await _run(settings, folder, listener, starting)
    say("Stopped.")


async def _run(settings: Settings, folder: DataFolder, listener: socket.socket, starting: Starting) -> None:
    public_url = settings.public_url.rstrip("/") + "/" if settings.public_url else _own_url(listener)
    say(f"Data folder    {folder.path}")
    services = Services(settings, folder, public_url=public_url)
    folder.remember_public_url(public_url)
    await _migrate(folder)
    await _first_administrator(settings, folder)
    async with _nats(folder) as nats_url:
        bus = Bus(nats_url, name="ingot")
        try:
            app = Composed(services.apps(bus))
            starting.is_over()
            await _serve(
                app,
                listener,
                public_url,
                settings.drain_seconds,
                lambda: _greet(settings, folder, public_url, listener),
            )
            say("Stopping.")
        finally:
            await bus.close()


async def _serve(
    app: Composed,
    listener: socket.socket,
    public_url: str,
    drain_seconds: int,
    on_listening: Callable[[], None],
) -> None:
    try:
        await serve_app(
            app, listener, public_url=public_url, drain_seconds=drain_seconds, on_listening=on_listening
        )
    except SystemExit:
        # uvicorn ends the process when an app does not start; why is known only here.
        raise app.failure or CannotStart("the server did not start") from None


async def _migrate(folder: DataFolder) -> None:
    for service, scripts in SCHEMAS.items():
        file = folder.database_file(service)
        try:
            await upgrade(folder.database_url(service), scripts)
        except DatabaseNewer as error:
            raise CannotStart(f"{file}: {error}; use the release that wrote it") from error
        except DatabaseError as error:
            raise CannotStart(f"cannot open the database {file}: {error.orig}") from error
    say(f"Databases      {', '.join(SCHEMAS)}: ready")


async def _first_administrator(settings: Settings, folder: DataFolder) -> None:
    password = settings.admin_password or secrets.token_urlsafe(15)
    made = await accounts.ensure_administrator(
        folder, name=settings.admin_username, email=settings.admin_email, password=password
    )
    if made:
        shown = "the one you gave" if settings.admin_password else f"{password}   (shown only now)"
        say(f"Administrator  {settings.admin_username}, password: {shown}")


@asynccontextmanager
async def _nats(folder: DataFolder) -> AsyncIterator[str]:
    server = NatsServer(folder.nats)
    try:
        try:
            url = await server.start()
        except NatsUnavailable as error:
            raise CannotStart(str(error)) from error
        say("NATS           started")
        yield url
    finally:
        await server.stop()


def _own_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - listens everywhere; a URL needs one name
        host = "localhost"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _command() -> str:
    """How this program was called, as one would type it here."""
    called, here = Path(sys.argv[0]).absolute(), Path.cwd()
    if called.parent == here:
        return f"./{called.name}"
    return str(called.relative_to(here) if called.is_relative_to(here) else called)


def _greet(settings: Settings, folder: DataFolder, public_url: str, listener: socket.socket) -> None:
    name = settings.admin_username
    data = "" if settings.data == "./data" else f" --data {folder.path}"
    with_name = _own_url(listener).replace("://", f"://{quote(name)}@", 1)
    say(f"\nIngot is ready at {public_url}")
    say(f"Its API is shown at {public_url}api/v1/swagger\n")
    say(f"  Add a user         {_command()} admin create-user ann --email ann@example.org{data}")
    say(
        f"  Make a repository  curl -u {name} {public_url}api/v1/user/repos"
        """ -H 'Content-Type: application/json' -d '{"name": "demo"}'"""
    )
    say(f"  Push to it         git push {with_name}{name}/demo.git HEAD")
    say("\nCtrl-C stops it.")
