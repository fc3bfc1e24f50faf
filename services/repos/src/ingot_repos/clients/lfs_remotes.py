"""The LFS server of a remote: where its objects are (the batch API), and their bytes (the basic transfer).

https://github.com/git-lfs/git-lfs/tree/main/docs/api. Objects may be on any host, and may be redirected to any. So the
addresses of a host are judged before each request, and again for each connection, which uses only those. The credentials
of the remote go to its own scheme, host and port alone; the headers of an object stay behind when a redirect leaves its
host. Nothing that the server says is ever shown.

This module brings aiohttp, 6 MiB and a quarter of a second of CPU: it is imported by whoever has objects to fetch.
"""

import asyncio
import base64
import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

import aiohttp
import msgspec
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ingot_chassis.security.egress import Egress, Resolve, resolve_host
from ingot_chassis.security.own_servers import OwnServers

log = structlog.get_logger()

Fault = Literal["address", "failed", "missing", "redirect", "tls", "unauthorized", "unreachable"]
"""What went wrong with the server, or (``missing``) with an object alone."""

MEDIA_TYPE = "application/vnd.git-lfs+json"
MOST_OBJECTS = 100
"""Of one batch: git-lfs asks for as many, and servers refuse more."""
MOST_BATCH_BYTES = 4 * 1024 * 1024
MOST_REDIRECTS = 5
CONNECT_SECONDS = 10.0
_HREF = re.compile(r"https?://[\x21-\x7e]+", re.IGNORECASE)
_OF_THE_CONNECTION = frozenset(
    ("connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that are ours to set."""


class LfsRemoteFailed(Exception):
    """An object, or where objects are, could not be fetched."""

    def __init__(self, fault: Fault) -> None:
        self.fault: Fault = fault
        super().__init__(fault)


class Action(msgspec.Struct):
    """The request that downloads an object."""

    href: str
    header: dict[str, str] | None = None


class _Actions(msgspec.Struct):
    download: Action | None = None


class _ObjectError(msgspec.Struct):
    code: int


class _Object(msgspec.Struct):
    oid: str
    actions: _Actions | None = None
    error: _ObjectError | None = None


class _BatchAnswer(msgspec.Struct):
    objects: list[_Object]
    transfer: str = "basic"


class _JudgedAddresses(AbstractResolver):
    """Resolves hosts that egress allows, and that are none of Ingot's own servers."""

    def __init__(self, egress: Egress, own_servers: OwnServers, resolve: Resolve) -> None:
        self._egress, self._own_servers, self._resolve = egress, own_servers, resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises LfsRemoteFailed."""
        del family
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                answers = await self._resolve(host, port)
        except (TimeoutError, OSError, UnicodeError):
            raise LfsRemoteFailed("unreachable") from None
        addresses = [answer["host"] for answer in answers]
        refusal = self._egress.refusal(host, port, addresses)
        if refusal := refusal or await self._own_servers.refusal(host, port, addresses):
            log.warning("fetch refused", reason=refusal)
            raise LfsRemoteFailed("address")
        return [ResolveResult(**answer) for answer in answers]

    async def close(self) -> None:
        """There is nothing to close."""


class LfsRemote:
    """The LFS server of a remote; see ``open_lfs_remote``."""

    def __init__(
        self,
        url: str,
        session: aiohttp.ClientSession,
        addresses: _JudgedAddresses,
        *,
        home: str,
        secrets: tuple[str, str] | None,
        count: Callable[[int], None],
    ) -> None:
        self._url, self._session, self._addresses = url, session, addresses
        self._home, self._count = _place(URL(home)), count
        self._authorization = (
            "Basic " + base64.b64encode(":".join(secrets).encode()).decode() if secrets else ""
        )

    async def batch(self, sizes: Mapping[str, int]) -> dict[str, Action]:
        """How those of these objects (at most ``MOST_OBJECTS``) that the server has are downloaded, by oid.

        Raises LfsRemoteFailed.
        """
        body = msgspec.json.encode(
            {
                "operation": "download",
                "transfers": ["basic"],
                "objects": [{"oid": oid, "size": size} for oid, size in sizes.items()],
                "hash_algo": "sha256",
            }
        )
        headers = {"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE}
        with _faults():
            url = _parse(self._url.rstrip("/") + "/objects/batch")
            async with self._request("POST", url, headers, body) as response:
                _require_success(response.status, absent="failed")
                text = await self._whole(response)
            answer = msgspec.json.decode(text, type=_BatchAnswer)
        if answer.transfer != "basic":
            raise LfsRemoteFailed("failed")
        actions = {one.oid: _action(one) for one in answer.objects if one.oid in sizes}
        return {oid: action for oid, action in actions.items() if action is not None}

    async def download(self, action: Action) -> AsyncGenerator[bytes, None]:
        """The bytes of an object as they come, of whatever size. Raises LfsRemoteFailed."""
        with _faults():
            url, headers = _parse(action.href), action.header or {}
            for _ in range(MOST_REDIRECTS + 1):
                async with self._request("GET", url, headers) as response:
                    if response.status not in (301, 302, 303, 307, 308):
                        _require_success(response.status, absent="missing")
                        async for chunk in response.content.iter_any():
                            self._count(len(chunk))
                            yield chunk
                        return
                    following = _parse(str(url.join(URL(response.headers["Location"], encoded=True))))
                if _place(following) != _place(url):
                    headers = {}
                url = following
        raise LfsRemoteFailed("redirect")

    @asynccontextmanager
    async def _request(
        self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        # For an address in place of a name the connection asks no resolver.
        await self._addresses.resolve(url.raw_host or "", url.port or 0)
        sent = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION}
        is_authorized = any(name.lower() == "authorization" for name in sent)
        if self._authorization and not is_authorized and _place(url) == self._home:
            sent["Authorization"] = self._authorization
        async with self._session.request(
            method, url, headers=sent, data=body, allow_redirects=False
        ) as response:
            yield response

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        text = bytearray()
        async for chunk in response.content.iter_any():
            self._count(len(chunk))
            text += chunk
            if len(text) > MOST_BATCH_BYTES:
                raise LfsRemoteFailed("failed")
        return bytes(text)


@asynccontextmanager
async def open_lfs_remote(
    url: str,
    egress: Egress,
    own_servers: OwnServers,
    *,
    home: str,
    secrets: tuple[str, str] | None,
    count: Callable[[int], None],
    authorities: str = "",
    resolve: Resolve = resolve_host,
) -> AsyncIterator[LfsRemote]:
    """The LFS server at ``url``, for one run.

    Args:
        url: of http or https.
        egress: judges every address.
        own_servers: judges it as well.
        home: the URL of the remote itself: its scheme, host and port get ``secrets``, and nothing else does.
        secrets: user name and password.
        count: gets the size of what came, each time; what it raises ends the run.
        authorities: a PEM file of certificate authorities that are trusted beside the machine's own.
        resolve: how names are resolved.
    """
    addresses = _JudgedAddresses(egress, own_servers, resolve)
    tls = await asyncio.to_thread(_trust, authorities)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=addresses, use_dns_cache=False, ssl=tls),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        skip_auto_headers=("Accept-Encoding",),
        trust_env=False,
    ) as session:
        yield LfsRemote(url, session, addresses, home=home, secrets=secrets, count=count)


def _trust(authorities: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if authorities:
        context.load_verify_locations(authorities)
    return context


def _parse(href: str) -> URL:
    """The URL exactly as it is: it may be signed. Raises LfsRemoteFailed, ValueError."""
    if not _HREF.fullmatch(href):
        raise LfsRemoteFailed("failed")
    return URL(href, encoded=True)


def _place(url: URL) -> tuple[str, str | None, int | None]:
    return url.scheme, url.raw_host, url.port


def _action(answered: _Object) -> Action | None:
    """How an object is downloaded; None when the server does not have it. Raises LfsRemoteFailed."""
    if answered.error is None:
        return answered.actions.download if answered.actions else None
    fault = _fault(answered.error.code, absent="missing")
    if fault in ("unauthorized", "unreachable"):
        raise LfsRemoteFailed(fault)
    return None


def _require_success(status: int, *, absent: Fault) -> None:
    """Raises LfsRemoteFailed; ``absent`` for 404 and 410."""
    if status != 200:
        raise LfsRemoteFailed(_fault(status, absent=absent))


def _fault(status: int, *, absent: Fault) -> Fault:
    if status in (401, 403, 407):
        return "unauthorized"
    if status in (404, 410):
        return absent
    if 300 <= status < 400:
        return "redirect"
    return "unreachable" if status == 429 or status >= 500 else "failed"


@contextmanager
def _faults() -> Iterator[None]:
    """What the connection raises, as LfsRemoteFailed."""
    try:
        yield
    except (aiohttp.ClientSSLError, ssl.SSLError):
        raise LfsRemoteFailed("tls") from None
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, OSError):
        raise LfsRemoteFailed("unreachable") from None
    except (aiohttp.ClientError, KeyError, ValueError, RecursionError):
        raise LfsRemoteFailed("failed") from None
