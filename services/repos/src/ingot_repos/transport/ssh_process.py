"""``ingot-repos ssh``: the SSH server as a separate process, without database and repositories."""

import asyncio

from ingot_chassis.http.server import bound_socket, metrics_served, metrics_socket
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_chassis.settings import SettingsError
from ingot_repos.settings import Settings
from ingot_ssh.repos import Repos
from ingot_ssh.server import SshServer
from ingot_wire.client import Origin


async def serve(settings: Settings) -> None:
    """Run the SSH server until the task is cancelled. Raises SettingsError, CannotStart."""
    if not settings.private_key:
        raise SettingsError(["INGOT_REPOS_PRIVATE_KEY is not set; see docs/reference/settings.md"])
    upstream = Origin(
        settings.ssh_upstream, patience=settings.connect_seconds, max_waiting=settings.waiting_requests
    )
    repos = Repos(upstream, ServiceIdentity("repos", SigningKey.read(settings.private_key)))
    listener = bound_socket(settings.ssh_listen_host, settings.ssh_listen_port)
    metrics = metrics_socket(settings, listener)
    server = SshServer(repos, settings)
    try:
        async with metrics_served(metrics, public_url=settings.public_url), server.served(listener):
            try:
                await asyncio.Event().wait()
            finally:
                await server.hand_over()
    finally:
        await upstream.close()
