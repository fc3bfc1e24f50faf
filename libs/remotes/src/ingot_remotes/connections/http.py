"""Requests to the API of a source: JSON only, of a bounded size, to addresses that egress allows.

Redirects are followed, and their addresses are checked, too. Credentials are sent only to the scheme, host
and port of the source. Messages of the source are never shown.

The module imports aiohttp, like ``connections.sessions``.
"""

import asyncio
import email.utils
import re
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import aiohttp
import msgspec
from aiohttp.helpers import is_ip_address
from yarl import URL

from ingot_chassis.clock import now
from ingot_chassis.security.egress import Egress, Resolve, resolve_host
from ingot_chassis.security.own_servers import OwnServers
from ingot_remotes.connections.memory import CachedAnswer, SourceMemory
from ingot_remotes.connections.sessions import AddressFailed, JudgedAddresses, open_session, place_of
from ingot_remotes.interface.source import Fault, SourceBusy, SourceFailed

MOST_BYTES = 32 * 1024 * 1024
"""Limit of one answer: a page of issues with long texts."""
MOST_REDIRECTS = 5
REQUEST_SECONDS = 30.0
FILE_SECONDS = 3600.0
"""Limit of the time for one file."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 3600.0
"""Seconds of a pause that a source may ask for."""
NO_TIME = 60.0
"""Seconds of a pause whose time the source does not say."""
_FILE = {"Accept": "application/octet-stream"}
"""GitHub answers with a description of a file otherwise."""
_LIMIT = b"rate limit"
"""Words in an answer 403 of GitHub that means 429, and has no header that says so.

https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api (version 2022-11-28)
"""
_T = TypeVar("_T")


class Answer(NamedTuple, Generic[_T]):
    """A decoded response.

    ``links`` has the queries of the URLs in the header Link, by relation (RFC 8288).
    """

    value: _T
    headers: Mapping[str, str]
    links: Mapping[str, str]


class SourceHttp:
    """An HTTP client for the API of one source (see ``open_source_http``)."""

    def __init__(
        self,
        root: str,
        session: aiohttp.ClientSession,
        addresses: JudgedAddresses,
        headers: Mapping[str, str],
        memory: SourceMemory,
    ) -> None:
        self._root, self._session, self._addresses = URL(root), session, addresses
        self._headers, self.memory = headers, memory
        self._allowed = set[tuple[str, int]]()

    @property
    def has_credentials(self) -> bool:
        """True if requests have credentials."""
        return "Authorization" in self._headers

    async def get(self, path: str, query: Mapping[str, str | int] | str, answer: type[_T]) -> Answer[_T]:
        """GET ``path`` below the root, and decode the answer. Raises SourceFailed, SourceBusy."""
        url = URL(f"{self._root}{path}", encoded=True).with_query(query)
        with _faults():
            cached = self.memory.answer(str(url))
            headers = {"Accept": "application/json"} | ({"If-None-Match": cached.etag} if cached else {})
            async with self._follow(url, headers, REQUEST_SECONDS) as response:
                if response.status == 304 and cached is not None:
                    return Answer(msgspec.json.decode(cached.body, type=answer), cached.headers, cached.links)
                body, links = await _whole(response), _links(response)
                value = msgspec.json.decode(body, type=answer)
                if etag := response.headers.get("ETag"):
                    self.memory.remember(str(url), CachedAnswer(etag, response.headers, links, body))
                return Answer(value, response.headers, links)

    @asynccontextmanager
    async def open_file(self, address: str) -> AsyncIterator[tuple[AsyncIterator[bytes], int | None]]:
        """Open the file at an address of any server. Yield its chunks, and its length in bytes or None.

        Raises SourceFailed, SourceBusy.
        """
        async with AsyncExitStack() as stack:
            with _faults():
                url = URL(address)
                if url.scheme not in ("http", "https"):
                    raise SourceFailed("redirect")
                response = await stack.enter_async_context(self._follow(url, _FILE, FILE_SECONDS))
            yield _chunks(response), response.content_length

    async def _require_allowed(self, url: URL) -> None:
        """Raise AddressFailed unless the host of a URL may be reached.

        Each host is checked once for each session. Only IP addresses are checked here. aiohttp passes only
        names to its resolver, which checks every connection.
        """
        place = (url.raw_host or "", url.port or 0)
        if is_ip_address(place[0]) and place not in self._allowed:
            await self._addresses.resolve(*place)
            self._allowed.add(place)

    @asynccontextmanager
    async def _follow(
        self, url: URL, headers: Mapping[str, str], seconds: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open the successful response after redirects, or 304 for a cached response.

        Each request times out after ``seconds``. Raises SourceFailed, SourceBusy, AddressFailed.
        """
        for _ in range(MOST_REDIRECTS + 1):
            await self._require_allowed(url)
            sent = {"User-Agent": "Ingot", **headers}
            if place_of(url) == place_of(self._root):
                sent = {**self._headers, **sent}
            async with (
                asyncio.timeout(seconds),
                self._session.get(url, headers=sent, allow_redirects=False) as response,
            ):
                if response.status not in (301, 302, 303, 307, 308):
                    if not (response.status == 304 and "If-None-Match" in headers):
                        await _require_success(response)
                    yield response
                    return
                following = url.join(URL(response.headers["Location"], encoded=True))
            if following.scheme not in ("http", "https"):
                raise SourceFailed("redirect")
            url = following
        raise SourceFailed("redirect")


@asynccontextmanager
async def open_source_http(
    root: str,
    egress: Egress,
    own_servers: OwnServers,
    *,
    headers: Mapping[str, str],
    memory: SourceMemory,
    authorities: str = "",
    resolve: Resolve = resolve_host,
) -> AsyncIterator[SourceHttp]:
    """Open the API at ``root``.

    Args:
        root: an http or https URL.
        egress: checks every address.
        own_servers: rejects the addresses of Ingot's own servers.
        headers: the headers of requests to the host of ``root``, with its credentials.
        memory: earlier answers of this source to the owner of the credentials.
        authorities: a PEM file of certificate authorities, added to the authorities of the system.
        resolve: resolves host names.
    """
    addresses = JudgedAddresses(egress, own_servers, resolve)
    async with open_session(addresses, authorities) as session:
        yield SourceHttp(root, session, addresses, headers, memory)


async def each(requests: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Return the results of requests in order.

    The first failure cancels the other requests, and is raised.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in requests]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


@contextmanager
def _faults() -> Iterator[None]:
    """Convert errors of requests inside the block to SourceFailed."""
    try:
        yield
    except AddressFailed as error:
        raise SourceFailed(error.fault) from None
    except (aiohttp.ClientSSLError, ssl.SSLError):
        raise SourceFailed("tls") from None
    except (TimeoutError, aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, OSError):
        raise SourceFailed("unreachable") from None
    except (aiohttp.ClientError, KeyError, ValueError, RecursionError):
        raise SourceFailed("forge-answer") from None


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the chunks of a file. Raises SourceFailed if the server sends nothing for ``REQUEST_SECONDS``."""
    with _faults():
        while True:
            async with asyncio.timeout(REQUEST_SECONDS):
                chunk = await response.content.readany()
            if not chunk:
                return
            yield chunk


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    text = bytearray()
    async for chunk in response.content.iter_any():
        text += chunk
        if len(text) > MOST_BYTES:
            raise SourceFailed("too-large")
    return bytes(text)


def _links(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {relation: URL(str(link["url"])).raw_query_string for relation, link in response.links.items()}


async def _require_success(response: aiohttp.ClientResponse) -> None:
    """Raise SourceBusy if the response reports a rate limit, and SourceFailed for any other failure."""
    status, headers = response.status, response.headers
    if status == 200:
        return
    if status in (403, 429, 503) and "Retry-After" in headers:
        raise SourceBusy(_pause(headers["Retry-After"]))
    if status in (403, 429) and _first(headers, "X-RateLimit-Remaining", "RateLimit-Remaining") == "0":
        raise SourceBusy(_until(_first(headers, "X-RateLimit-Reset", "RateLimit-Reset")))
    if status == 429 or (status == 403 and _LIMIT in (await response.content.read(4096)).lower()):
        raise SourceBusy(NO_TIME)
    raise SourceFailed(_fault(status))


def _first(headers: Mapping[str, str], *names: str) -> str:
    return next((headers[name] for name in names if name in headers), "")


def _fault(status: int) -> Fault:
    if status in (401, 403, 407):
        return "unauthorized"
    if status in (404, 410):
        return "not-found"
    return "unreachable" if status >= 500 else "forge-answer"


def _pause(text: str) -> float:
    """Return the seconds of a header Retry-After (RFC 9110, section 10.2.3), within bounds."""
    try:
        seconds = float(int(text))
    except ValueError:
        try:
            seconds = (email.utils.parsedate_to_datetime(text) - now()).total_seconds()
        except (ValueError, TypeError):
            seconds = NO_TIME
    return min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE)


def _until(text: str) -> float:
    """Return the seconds until a time in seconds since 1970, within bounds."""
    seconds = int(text) - now().timestamp() if re.fullmatch("[0-9]{1,12}", text) else NO_TIME
    return min(max(seconds, SHORTEST_PAUSE), LONGEST_PAUSE)
