"""HTTP sessions for remotes. They connect only to allowed addresses.

The module imports aiohttp: 6 MiB and 0.25 seconds of CPU time. It is imported only to make such requests.
"""

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ingot_chassis.security.egress import Egress, Resolve
from ingot_chassis.security.own_servers import OwnServers

log = structlog.get_logger()

CONNECT_SECONDS = 10.0


class AddressFailed(Exception):
    """A host has no address (``unreachable``), or no allowed address (``address``)."""

    def __init__(self, fault: Literal["address", "unreachable"]) -> None:
        self.fault: Literal["address", "unreachable"] = fault
        super().__init__(fault)


class JudgedAddresses(AbstractResolver):
    """A resolver that rejects a host unless all its addresses are allowed.

    Egress must allow an address, and it must not be one of Ingot's own.
    """

    def __init__(self, egress: Egress, own_servers: OwnServers, resolve: Resolve) -> None:
        self._egress, self._own_servers, self._resolve = egress, own_servers, resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a host. Raises AddressFailed."""
        del family
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                answers = await self._resolve(host, port)
        except (TimeoutError, OSError, UnicodeError):
            raise AddressFailed("unreachable") from None
        addresses = [answer["host"] for answer in answers]
        refusal = self._egress.refusal(host, port, addresses)
        if refusal := refusal or await self._own_servers.refusal(host, port, addresses):
            log.warning("fetch refused", reason=refusal)
            raise AddressFailed("address")
        return [ResolveResult(**answer) for answer in answers]

    async def close(self) -> None:
        """Do nothing: the resolver holds no resources."""


@asynccontextmanager
async def open_session(addresses: JudgedAddresses, authorities: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a session that stores no cookies and no addresses, and adds no headers of its own.

    ``authorities`` is a PEM file of certificate authorities, added to the authorities of the system.
    """
    tls = await asyncio.to_thread(_trust, authorities)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=addresses, use_dns_cache=False, ssl=tls),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        skip_auto_headers=("Accept-Encoding",),
        trust_env=False,
    ) as session:
        yield session


def place_of(url: URL) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of a URL. Credentials are sent only if all three are equal."""
    return url.scheme, url.raw_host, url.port


def basic_authorization(username: str, password: str) -> str:
    """Return the header ``Authorization`` of basic authentication (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _trust(authorities: str) -> ssl.SSLContext:
    """Return the TLS context. It is created again if the file of authorities has changed."""
    return _context(authorities, Path(authorities).stat().st_mtime_ns if authorities else 0)


@lru_cache(maxsize=4)
def _context(authorities: str, _changed_at: int) -> ssl.SSLContext:
    """Return a TLS context from a cache, because creating it takes 50 ms of CPU time."""
    context = ssl.create_default_context()
    if authorities:
        context.load_verify_locations(authorities)
    return context
