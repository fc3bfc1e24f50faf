"""Serves a locked data folder until a signal arrives: databases, NATS, apps.

The imports take a second or two. So `up.py` checks first that the server can start.
"""

import contextlib
import gc
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy.exc import DatabaseError

from ingot_chassis.command import StartupSignals
from ingot_chassis.db.migrations import pending, upgrade
from ingot_chassis.errors import CannotStart, DatabaseNewer
from ingot_chassis.events.bus import Bus
from ingot_chassis.http.server import metrics_served, metrics_socket, serve_app
from ingot_chassis.jobs.loops import running
from ingot_standalone import accounts
from ingot_standalone.backup import keep_databases
from ingot_standalone.composed_app import ComposedApp
from ingot_standalone.console import say
from ingot_standalone.data_folder import DataFolder, Secrets
from ingot_standalone.nats_server import NatsServer, NatsUnavailable
from ingot_standalone.schemas import SCHEMAS
from ingot_standalone.services import Services
from ingot_standalone.settings import Settings


async def run(
    settings: Settings,
    folder: DataFolder,
    service_secrets: Secrets,
    listener: socket.socket,
    ssh_listener: socket.socket | None,
    signals: StartupSignals,
) -> None:
    """Serve until a signal. Raises CannotStart or SettingsError."""
    public_url = settings.public_url.rstrip("/") + "/" if settings.public_url else _own_url(listener)
    ssh_port = ssh_listener.getsockname()[1] if ssh_listener else 0
    services = Services(settings, folder, service_secrets, public_url=public_url, ssh_port=ssh_port)
    folder.remember_public_url(public_url)
    await _migrate(folder)
    await _first_administrator(settings, folder)
    metrics = metrics_socket(services.gateway, listener)
    async with metrics_served(metrics, public_url=public_url), _nats(folder) as nats_url:
        inner_urls = [nats_url, *([_own_url(metrics)] if metrics else [])]
        public_urls = [_own_url(one) for one in (listener, ssh_listener) if one]
        bus = Bus(nats_url, name="ingot")
        try:
            apps = services.apps(bus, inner_urls=inner_urls, public_urls=public_urls)
            beside = [services.ssh_server(apps).served(ssh_listener)] if ssh_listener else []
            app = ComposedApp(apps, beside)
            signals.hand_over()
            await _serve(
                app,
                listener,
                public_url,
                settings.drain_seconds,
                lambda: _begin_to_serve(settings, folder, public_url, listener),
            )
            say("Stopping.")
        finally:
            await bus.close()


async def _serve(
    app: ComposedApp,
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
        # uvicorn raises SystemExit when an app does not start. The reason is in the app.
        raise app.failure or CannotStart("the server did not start") from None


async def _migrate(folder: DataFolder) -> None:
    if await _is_older(folder):
        say(f"Upgrade        the databases as they were are in {keep_databases(folder)}")
    for service, scripts in SCHEMAS.items():
        file = folder.database_file(service)
        try:
            await upgrade(folder.database_url(service), scripts)
        except DatabaseNewer as error:
            raise CannotStart(f"{file}: {error}; use the release that wrote it") from error
        except DatabaseError as error:
            raise CannotStart(f"cannot open the database {file}: {error.orig}") from error
    say(f"Databases      {', '.join(SCHEMAS)}: ready")


async def _is_older(folder: DataFolder) -> bool:
    """True if an older release wrote a database of the folder. Unreadable databases are ignored.

    Their migration reports the error.
    """
    with contextlib.suppress(DatabaseNewer, DatabaseError):
        for service, scripts in SCHEMAS.items():
            if folder.database_file(service).exists() and await pending(
                folder.database_url(service), scripts
            ):
                return True
    return False


async def _first_administrator(settings: Settings, folder: DataFolder) -> None:
    password = settings.admin_password or secrets.token_urlsafe(15)
    created = await accounts.ensure_administrator(
        folder, name=settings.admin_username, email=settings.admin_email, password=password
    )
    if created:
        password_text = "the one you gave" if settings.admin_password else f"{password}   (shown only now)"
        say(f"Administrator  {settings.admin_username}, password: {password_text}")


@asynccontextmanager
async def _nats(folder: DataFolder) -> AsyncIterator[str]:
    server = NatsServer(folder.nats)
    try:
        try:
            url = await server.start()
        except NatsUnavailable as error:
            raise CannotStart(str(error)) from error
        say("NATS           started")
        async with running([("nats-server", server.watch)]):
            yield url
    finally:
        await server.stop()


def _own_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - listens everywhere; a URL needs one name
        host = "localhost"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _command() -> str:
    """Return the command, as the user would type it in the current folder."""
    program, here = Path(sys.argv[0]).absolute(), Path.cwd()
    if program.parent == here:
        return f"./{program.name}"
    return str(program.relative_to(here) if program.is_relative_to(here) else program)


def _begin_to_serve(settings: Settings, folder: DataFolder, public_url: str, listener: socket.socket) -> None:
    gc.enable()
    _print_instructions(settings, folder, public_url, listener)


def _print_instructions(
    settings: Settings, folder: DataFolder, public_url: str, listener: socket.socket
) -> None:
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
