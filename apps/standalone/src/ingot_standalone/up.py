"""`ingot up`: binds the ports, locks the data folder, reads its secrets, and starts all services."""

import contextlib
import os
import sys

from ingot_chassis.command import StartupSignals
from ingot_chassis.http.server import bound_socket
from ingot_chassis.telemetry import configure_logging, configure_tracing
from ingot_standalone.console import say
from ingot_standalone.data_folder import DataFolder
from ingot_standalone.settings import Settings
from ingot_standalone.ssh import ssh_socket


async def up(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. Raises CannotStart or SettingsError."""
    os.umask(0o077)
    configure_logging(settings.log_level, readable=sys.stderr.isatty())
    configure_tracing("standalone", settings.otlp_endpoint)
    with StartupSignals().handled() as signals:
        folder = DataFolder(settings.folder)
        with (
            contextlib.closing(bound_socket(settings.host, settings.port)) as listener,
            folder.in_use(),
            ssh_socket(settings) as (ssh_listener, notice),
        ):
            say(f"SSH            {notice}")
            say(f"Data folder    {folder.path}")
            service_secrets = folder.secrets()
            from ingot_standalone.server import run

            await run(settings, folder, service_secrets, listener, ssh_listener, signals)
    say("Stopped.")
