"""git over SSH inside `ingot up`: the socket, and its address for users."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import ingot_repos.settings
from ingot_chassis.errors import CannotStart
from ingot_chassis.http.server import bound_socket
from ingot_standalone.settings import DEFAULT_SSH_PORT, Settings, is_named


@contextmanager
def ssh_socket(settings: Settings) -> Iterator[tuple[socket.socket | None, str]]:
    """Yield the listening socket, or None, and a text about it for the user.

    The socket is None if SSH is switched off, or if the default port is taken. Raises CannotStart if another
    port is unavailable.
    """
    if not settings.ssh_port:
        yield None, "off"
        return
    try:
        listener = bound_socket(settings.host, settings.ssh_port)
    except CannotStart as error:
        if settings.ssh_port != DEFAULT_SSH_PORT:
            raise CannotStart(f"no SSH: {error.__cause__}; choose another port with --ssh-port") from error
        yield None, f"off: port {DEFAULT_SSH_PORT} is taken; choose another with --ssh-port"
        return
    with listener:
        yield listener, f"port {settings.ssh_port}"


def set_urls(repos: ingot_repos.settings.Settings, public_url: str, port: int) -> None:
    """Set the host and port of `ssh_url` for a server that listens on ``port``; 0 hides the URL.

    A port in the settings is kept, because users may reach ``port`` through it.
    """
    repos.ssh_host = (repos.ssh_host or urlsplit(public_url).hostname or "") if port else ""
    if not is_named("INGOT_REPOS_SSH_PORT"):
        repos.ssh_port = port
