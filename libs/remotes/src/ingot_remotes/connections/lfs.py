"""A client for the LFS server of a remote: the batch API and the basic transfer.

See https://github.com/git-lfs/git-lfs/tree/main/docs/api. Objects may be on any host, and redirects may lead
to any host. So the addresses of a host are checked before each request. Each connection checks them again and
uses only checked addresses. The credentials of the remote are sent only to its own scheme, host and port. The
headers of an object are dropped when a redirect leaves its host. Messages of the server are never shown.

The module imports aiohttp: 6 MiB and 0.25 seconds of CPU time. It is imported only to fetch objects.
"""

import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

import aiohttp
import msgspec
from yarl import URL

from ingot_chassis.security.egress import Egress, Resolve, resolve_host
from ingot_chassis.security.own_servers import OwnServers
from ingot_remotes.connections.sessions import (
    AddressFailed,
    JudgedAddresses,
    basic_authorization,
    open_session,
    place_of,
)

Fault = Literal["address", "failed", "missing", "redirect", "tls", "unauthorized", "unreachable"]
"""The kind of a failure: of the server, or of a single object (``missing``)."""

MEDIA_TYPE = "application/vnd.git-lfs+json"
MOST_OBJECTS = 100
"""Limit of objects per batch. git-lfs uses the same number, and servers refuse more."""
MOST_BATCH_BYTES = 4 * 1024 * 1024
MOST_REDIRECTS = 5
_HREF = re.compile(r"https?://[\x21-\x7e]+", re.IGNORECASE)
_OF_THE_CONNECTION = frozenset(
    ("connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that this client sets itself."""


class LfsRemoteFailed(Exception):
    """An object or its download address could not be fetched."""

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


class LfsRemote:
    """The LFS server of a remote (see ``open_lfs_remote``)."""

    def __init__(
        self,
        url: str,
        session: aiohttp.ClientSession,
        addresses: JudgedAddresses,
        *,
        home: str,
        secrets: tuple[str, str] | None,
        count: Callable[[int], None],
    ) -> None:
        self._url, self._session, self._addresses = url, session, addresses
        self._home, self._count = place_of(URL(home)), count
        self._authorization = basic_authorization(*secrets) if secrets else ""

    async def batch(self, sizes: Mapping[str, int]) -> dict[str, Action]:
        """Return the download requests of these objects by oid. Missing objects are omitted.

        Takes at most ``MOST_OBJECTS``. Raises LfsRemoteFailed.
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
        """Yield the bytes of an object of any size. Raises LfsRemoteFailed."""
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
                if place_of(following) != place_of(url):
                    headers = {}
                url = following
        raise LfsRemoteFailed("redirect")

    @asynccontextmanager
    async def _request(
        self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        # A connection to an IP address does not ask the resolver.
        await self._addresses.resolve(url.raw_host or "", url.port or 0)
        sent = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION}
        is_authorized = any(name.lower() == "authorization" for name in sent)
        if self._authorization and not is_authorized and place_of(url) == self._home:
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
    """Open the LFS server at ``url`` for one run.

    Args:
        url: an http or https address.
        egress: checks every address.
        own_servers: rejects the addresses of Ingot's own servers.
        home: the URL of the remote. Only its scheme, host and port receive ``secrets``.
        secrets: user name and password.
        count: called with the size of each received part. If it raises, the run ends.
        authorities: a PEM file of certificate authorities, added to the authorities of the system.
        resolve: resolves host names.
    """
    addresses = JudgedAddresses(egress, own_servers, resolve)
    async with open_session(addresses, authorities) as session:
        yield LfsRemote(url, session, addresses, home=home, secrets=secrets, count=count)


def _parse(href: str) -> URL:
    """Parse a URL without normalizing it, because it may be signed. Raises LfsRemoteFailed, ValueError."""
    if not _HREF.fullmatch(href):
        raise LfsRemoteFailed("failed")
    return URL(href, encoded=True)


def _action(answered: _Object) -> Action | None:
    """Return the request that downloads an object; None if the server lacks it. Raises LfsRemoteFailed."""
    if answered.error is None:
        return answered.actions.download if answered.actions else None
    fault = _fault(answered.error.code, absent="missing")
    if fault in ("unauthorized", "unreachable"):
        raise LfsRemoteFailed(fault)
    return None


def _require_success(status: int, *, absent: Fault) -> None:
    """Raise LfsRemoteFailed for a failed request, with the fault ``absent`` for 404 and 410."""
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
    """Convert connection errors inside the block to LfsRemoteFailed."""
    try:
        yield
    except AddressFailed as error:
        raise LfsRemoteFailed(error.fault) from None
    except (aiohttp.ClientSSLError, ssl.SSLError):
        raise LfsRemoteFailed("tls") from None
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, OSError):
        raise LfsRemoteFailed("unreachable") from None
    except (aiohttp.ClientError, KeyError, ValueError, RecursionError):
        raise LfsRemoteFailed("failed") from None
