"""Requests to providers, only to addresses that egress allows.

A host is resolved once for each request, and only checked addresses are used. Redirects are not followed. By
default only public addresses on port 443 are allowed, with TLS. The operator names all exceptions. The module
imports aiohttp when the first request is sent: 6 MiB and 0.25 seconds of CPU time.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
import structlog

from ingot_chassis.security.egress import Egress, Resolve, resolve_host
from ingot_chassis.security.own_servers import OwnServers

if TYPE_CHECKING:
    import aiohttp

log = structlog.get_logger()

SETTING = "INGOT_IDENTITY_ALLOWED_PROVIDERS"
SECONDS = 10.0
MOST_BYTES = 1024 * 1024


class ProviderFailed(Exception):
    """A provider did not respond, or its response is invalid. The text is for the log and administrators."""


class Reply(msgspec.Struct, frozen=True):
    status: int
    content: bytes

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object. Raises ProviderFailed."""
        try:
            return msgspec.json.decode(self.content, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise ProviderFailed("the answer is no JSON object") from error


class ProviderHttp:
    """Sends requests to providers. ``authorities`` is a PEM file, added to the system's authorities."""

    def __init__(
        self,
        allowed: Sequence[str],
        own_servers: OwnServers,
        *,
        authorities: str = "",
        resolve: Resolve = resolve_host,
    ) -> None:
        """Read the allowed targets. Raises SettingsError for an invalid entry of ``allowed``."""
        self._egress = {
            "https": Egress(allowed, SETTING, ports=(443,)),
            "http": Egress(allowed, SETTING, ports=()),
        }
        self._own_servers, self._authorities, self._resolve = own_servers, authorities, resolve
        self._tls: ssl.SSLContext | None = None

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: str = ""
    ) -> Reply:
        """Send one request. Raises ProviderFailed."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._request(method, url, headers or {}, body)
        except TimeoutError as error:
            raise ProviderFailed(f"no answer within {SECONDS:g} s") from error
        except (OSError, ValueError) as error:
            raise ProviderFailed(f"no connection: {type(error).__name__}") from error

    async def _request(self, method: str, url: str, headers: Mapping[str, str], body: str) -> Reply:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
        egress = self._egress.get(parts.scheme)
        if egress is None or not host or parts.username is not None:
            raise ProviderFailed("the address is not one of http or https")
        answers = await self._resolve(host, port)
        addresses = [answer["host"] for answer in answers]
        refusal = egress.refusal(host, port, addresses)
        if refusal := refusal or await self._own_servers.refusal(host, port, addresses):
            raise ProviderFailed(refusal)
        import aiohttp

        from ingot_identity.providers.clients.checked import checked_connector

        if self._tls is None:
            self._tls = await asyncio.to_thread(_trust, self._authorities)
        async with aiohttp.ClientSession(
            connector=checked_connector(answers, self._tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=SECONDS),
            trust_env=False,
        ) as session:
            return await self._read(session, method, url, headers, body)

    @staticmethod
    async def _read(
        session: "aiohttp.ClientSession", method: str, url: str, headers: Mapping[str, str], body: str
    ) -> Reply:
        import aiohttp

        try:
            async with session.request(
                method, url, headers=headers, data=body.encode() or None, allow_redirects=False
            ) as response:
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > MOST_BYTES:
                        raise ProviderFailed(f"the answer is larger than {MOST_BYTES} bytes")
                return Reply(response.status, bytes(content))
        except aiohttp.ClientError as error:
            raise ProviderFailed(f"no connection: {type(error).__name__}") from error


def _trust(authorities: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if authorities:
        context.load_verify_locations(authorities)
    return context
