"""Sends one request to an endpoint, and only to an address that the egress guard has checked before.

A host is resolved once per attempt. The guard checks all its addresses, and only those are used. Connections
are reused for the next attempt at the same host, after another check of its addresses. Redirects are not
followed, and proxies of the environment are not used, because both would lead to unchecked addresses.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import partial

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType
from yarl import URL

from ingot_chassis.security.egress import Egress, Resolve, resolve_host
from ingot_chassis.security.own_servers import OwnServers
from ingot_hooks.endpoints.clients.dns import HostResolver
from ingot_hooks.endpoints.clients.replies import Reply

MAX_BODY_BYTES = 64 * 1024
MAX_HEADERS = 100
MAX_TEXT = 2000
BODY_SECONDS = 3.0
KEEPALIVE_SECONDS = 15.0
CERTIFICATE_FAULTS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is signed by itself",
    19: "is signed by an authority that is not trusted",
    20: "is signed by an authority that is not trusted",
    21: "is signed by an authority that is not trusted",
    62: "is for another host",
    64: "is for another address",
}
"""Texts for certificate errors by the codes of OpenSSL (``X509_V_ERR_…``)."""
CONNECTION_FAULTS = {
    errno.ECONNREFUSED: "it was refused",
    errno.ECONNRESET: "it was closed without an answer",
    errno.EHOSTUNREACH: "the host cannot be reached",
    errno.ENETUNREACH: "the host cannot be reached",
}


_checked_addresses: ContextVar[Sequence[ResolveResult]] = ContextVar("checked_addresses", default=())
"""The addresses that the current attempt may connect to."""
_new_connections: ContextVar[list[str]] = ContextVar("new_connections")
"""The addresses that the current request connects to; none for a connection from the pool."""


class CheckedResolver(AbstractResolver):
    """Returns to the connector the checked addresses of the current attempt, and no others."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        del port, family
        if not _checked_addresses.get():
            raise OSError(f"the addresses of {host} were not checked")
        return list(_checked_addresses.get())

    async def close(self) -> None:
        """Do nothing, because the resolver holds no resources."""


class HttpEndpoints:
    """Client of endpoints.

    ``seconds`` is the time from the lookup of the host to the head of the response.
    """

    def __init__(
        self, egress: Egress, own_servers: OwnServers, seconds: float, resolve: Resolve | None
    ) -> None:
        self._egress, self._own_servers, self._seconds = egress, own_servers, seconds
        self._hosts = HostResolver()
        self._resolve = resolve or partial(resolve_host, look_up=self._hosts.look_up)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections, and stop the threads that resolve hosts."""
        self._hosts.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send one request. Every failure of the endpoint is a ``Reply``, never an exception."""
        try:
            return await self._send(method, URL(url), headers, body)
        except TimeoutError:
            return Reply(error=f"no answer within {self._seconds:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Reply(error=_words(error))

    async def _send(self, method: str, url: URL, headers: Mapping[str, str], body: bytes) -> Reply:
        host, port = url.raw_host, url.port
        if url.scheme not in ("http", "https") or not host or port is None:
            return Reply(error="the URL is not one of http or https")
        async with asyncio.timeout(self._seconds) as limit:
            addresses = await self._resolve(host, port)
            texts = [address["host"] for address in addresses]
            refusal = self._egress.refusal(host, port, texts)
            if refusal := refusal or await self._own_servers.refusal(host, port, texts):
                return Reply(error=refusal)
            _checked_addresses.set(addresses)
            new_connections: list[str] = []
            _new_connections.set(new_connections)
            try:
                return await self._request(method, url, headers, body, limit)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if new_connections:
                    raise
            # An endpoint may close an idle connection just when it is reused. That is not a failed attempt.
            return await self._request(method, url, headers, body, limit)

    async def _request(
        self, method: str, url: URL, headers: Mapping[str, str], body: bytes, limit: asyncio.Timeout
    ) -> Reply:
        async with self._client_session().request(
            method, url, headers=headers, data=body, allow_redirects=False
        ) as response:
            limit.reschedule(None)  # The status decides. A slow body must not make a failure of a success.
            return Reply(
                status=response.status,
                headers={
                    name: _storable(value) for name, value in list(response.headers.items())[:MAX_HEADERS]
                },
                body=await _read_start(response),
            )

    def _client_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=CheckedResolver(),
                    use_dns_cache=False,
                    limit=0,
                    keepalive_timeout=KEEPALIVE_SECONDS,
                    socket_factory=_new_socket,
                ),
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session


def _new_socket(address: AddrInfoType) -> socket.socket:
    family, type_, protocol, _, target = address
    _new_connections.get().append(str(target[0]))
    return socket.socket(family, type_, protocol)


async def _read_start(response: aiohttp.ClientResponse) -> bytes:
    """Return the first bytes of the body: at most ``MAX_BODY_BYTES``, received within ``BODY_SECONDS``."""
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while len(received) < MAX_BODY_BYTES and (
                chunk := await response.content.read(MAX_BODY_BYTES - len(received))
            ):
                received += chunk
    except (TimeoutError, aiohttp.ClientError, OSError):
        return bytes(received)
    return bytes(received)


def _words(error: Exception) -> str:
    """Return a fixed text for the error.

    The endpoint's own text is not used, because it may be the greeting of any server.
    """
    match error:
        case ssl.SSLCertVerificationError():
            verification = getattr(error, "certificate_error", error)  # aiohttp's has the one of ssl
            code = getattr(verification, "verify_code", 0)
            words = f"TLS failed: the certificate {CERTIFICATE_FAULTS.get(code, 'is not valid')}"
        case ssl.SSLError():
            words = "TLS failed: the endpoint does not speak it, or not in a way that is known"
        case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError():
            words = "the answer cannot be read: it is not HTTP"
        case socket.gaierror():
            words = "no connection: the host name cannot be resolved"
        case aiohttp.ServerDisconnectedError():
            words = "no connection: it was closed without an answer"
        case OSError():
            words = f"no connection: {CONNECTION_FAULTS.get(error.errno or 0, 'it failed')}"
        case ValueError():
            words = "the URL cannot be used"
        case _:
            words = "no connection: it failed"
    return words


def _storable(text: str) -> str:
    """Return ``text`` without characters that no column can store, cut at ``MAX_TEXT``."""
    readable = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")
    return readable[:MAX_TEXT]
