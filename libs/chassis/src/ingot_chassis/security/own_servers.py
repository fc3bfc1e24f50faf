"""Ingot's own servers. No request on behalf of a user is sent to them, whatever else is allowed.

Addresses are compared, so no other name, spelling or interface of this machine can be used.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from ingot_chassis.http.server import METRICS_DISTANCE
from ingot_chassis.security.egress import Address, Resolve, resolve_host, unmapped
from ingot_chassis.settings import ServiceSettings, SettingsError

HIGHEST_PORT = 65_535
DEFAULT_PORTS = {
    "http": 80,
    "https": 443,
    "nats": 4222,
    "tls": 4222,
    "postgresql": 5432,
    "redis": 6379,
    "rediss": 6379,
}
FRESH_SECONDS = 30.0


class Server(NamedTuple):
    host: str
    port: int


def server_of(url: str) -> Server | None:
    """Return the server that a client of ``url`` connects to; None for a URL without one, such as a file."""
    parts = urlsplit(url)
    port = parts.port or DEFAULT_PORTS.get(parts.scheme.partition("+")[0])
    return Server(parts.hostname, port) if parts.hostname and port else None


def read_servers(entries: Sequence[str], setting: str) -> list[Server]:
    """Parse ``host:port`` entries, with an IPv6 address in brackets. Raises SettingsError."""
    servers = []
    for entry in entries:
        try:
            parts = urlsplit(f"//{entry.strip()}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or not port:
            raise SettingsError([f"{setting}: {entry!r} is no host:port"])
        servers.append(Server(host, port))
    return servers


def own_servers(
    settings: ServiceSettings, peers: Sequence[str], urls: Sequence[str] | None, named: Sequence[Server]
) -> "OwnServers":
    """Return Ingot's own servers and the operator's ``named`` servers.

    ``urls`` are the URLs of Ingot's own servers. None takes them from the settings and ``peers``.
    """
    if urls is None:
        metrics_port = settings.metrics_port or settings.port + METRICS_DISTANCE
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        urls = [
            *(
                settings.database_url,
                settings.store_url,
                settings.otlp_endpoint,
                *settings.nats_url.split(","),
            ),
            *peers,
            # Without metrics if their port would exceed the highest port.
            *(f"http://{host}:{port}" for port in (settings.port, metrics_port) if port <= HIGHEST_PORT),
            *parse_qs(urlsplit(settings.objects_url).query).get("endpoint", []),
        ]
    return OwnServers([*filter(None, map(server_of, urls)), *named])


class OwnServers:
    """Ingot's own servers. Their addresses are resolved when a request uses the port of one of them."""

    def __init__(
        self,
        servers: Sequence[Server],
        *,
        resolve: Resolve = resolve_host,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers, self._resolve, self._clock = servers, resolve, clock
        self._addresses: dict[Server, tuple[float, set[Address]]] = {}

    async def refusal(self, host: str, port: int, addresses: Sequence[str]) -> str:
        """Return the reason why requests to ``host`` are denied; empty if it is none of Ingot's servers."""
        at_port = [server for server in self._servers if server.port == port]
        targets = {unmapped(ipaddress.ip_address(address)) for address in addresses} if at_port else set()
        for server in at_port:
            if await self._is_one_of(server, targets):
                return f"port {port} of {host} is one of Ingot's own; nothing is sent there"
        return ""

    async def _is_one_of(self, server: Server, targets: set[Address]) -> bool:
        own = await self._addresses_of(server)
        return bool(own & targets) or (any(map(_is_local, own)) and any(map(_is_local, targets)))

    async def _addresses_of(self, server: Server) -> set[Address]:
        """Return the addresses of a server; empty if it was never resolved.

        A lookup is used for ``FRESH_SECONDS``, and longer if the next lookup fails.
        """
        read_at, addresses = self._addresses.get(server, (0.0, set()))
        if addresses and self._clock() - read_at < FRESH_SECONDS:
            return addresses
        try:
            answers = await self._resolve(*server)
        except OSError:
            return addresses
        addresses = {unmapped(ipaddress.ip_address(answer["host"])) for answer in answers}
        self._addresses[server] = self._clock(), addresses
        return addresses


def _is_local(address: Address) -> bool:
    """Return whether ``address`` belongs to this machine, so a socket can be bound to it."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
