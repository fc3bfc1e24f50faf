"""The endpoints of the world: one POST each, to an address that was judged before anything was sent.

A name is resolved once per attempt, every answer is judged, and only those addresses are connected to. Connections
are kept for the next attempt at the same host, whose addresses are judged none the less.
Redirects are not followed and proxies of the environment not used, since both would lead elsewhere.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace
from typing import Protocol

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ingot_chassis.egress import Resolve, resolved
from ingot_hooks.clients.names import Names

MOST_BYTES = 64 * 1024
MOST_HEADERS = 100
MOST_TEXT = 2000
BODY_SECONDS = 3.0
KEEP_SECONDS = 15.0


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What an endpoint did. ``status`` 0: there was no answer, and ``error`` says why in words."""

    status: int = 0
    headers: Mapping[str, str] = {}
    body: bytes = b""
    error: str = ""


Refusal = Callable[[str, int, Sequence[str]], str]
"""``(host, port, addresses)``: why nothing may be sent there, in words; empty when it may."""


class Endpoints(Protocol):
    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send once. Never raises for what the other side does."""

    async def close(self) -> None: ...


_judged: ContextVar[Sequence[ResolveResult]] = ContextVar("judged", default=())
"""The addresses that the attempt under way may connect to."""


class Judged(AbstractResolver):
    """Answers with the addresses that were judged for this attempt, and without them with none."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        del port, family
        if not _judged.get():
            raise OSError(f"{host} was not looked up")
        return list(_judged.get())

    async def close(self) -> None:
        """Nothing is held open."""


class HttpEndpoints:
    """Over sockets, within ``seconds`` from looking up the name to the head of the answer."""

    def __init__(self, refusal: Refusal, seconds: float, *, resolve: Resolve | None = None) -> None:
        self._refusal, self._seconds = refusal, seconds
        self._names = Names()
        self._resolve = resolve or partial(resolved, look_up=self._names.look_up)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close what is kept."""
        self._names.close()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        try:
            return await self._send(method, URL(url), headers, body)
        except TimeoutError:
            return Reply(error=f"no answer within {self._seconds:g} s")
        except ssl.SSLError as error:
            return Reply(error=_words(f"TLS failed: {error}"))
        except (aiohttp.ClientResponseError, aiohttp.ClientPayloadError) as error:
            return Reply(error=_words(f"the answer cannot be read: {error}"))
        except (aiohttp.ClientError, OSError) as error:
            return Reply(error=_words(f"no connection: {error}"))
        except ValueError as error:
            return Reply(error=_words(f"the URL cannot be used: {error}"))

    async def _send(self, method: str, url: URL, headers: Mapping[str, str], body: bytes) -> Reply:
        host, port = url.raw_host, url.port
        if url.scheme not in ("http", "https") or not host or port is None:
            return Reply(error="the URL is not one of http or https")
        async with asyncio.timeout(self._seconds) as limit:
            addresses = await self._resolve(host, port)
            refusal = self._refusal(host, port, [address["host"] for address in addresses])
            if refusal:
                return Reply(error=refusal)
            _judged.set(addresses)
            kept = SimpleNamespace(used=False)
            try:
                return await self._exchange(method, url, headers, body, limit, kept)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not kept.used:
                    raise
            # A kept connection may close in the moment in which it is used again; that is nobody's failure.
            return await self._exchange(method, url, headers, body, limit, kept)

    async def _exchange(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        body: bytes,
        limit: asyncio.Timeout,
        kept: SimpleNamespace,
    ) -> Reply:
        """One request. ``kept`` is told when it goes over a connection that was used before."""
        async with self._open().request(
            method, url, headers=headers, data=body, allow_redirects=False, trace_request_ctx=kept
        ) as response:
            limit.reschedule(None)  # The status decides; the body may not turn a success into a failure.
            return Reply(
                status=response.status,
                headers={
                    name: _words(value) for name, value in list(response.headers.items())[:MOST_HEADERS]
                },
                body=await _beginning(response),
            )

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            reuse = aiohttp.TraceConfig()
            reuse.on_connection_reuseconn.append(_note_reuse)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=Judged(), use_dns_cache=False, limit=0, keepalive_timeout=KEEP_SECONDS
                ),
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                trace_configs=[reuse],
            )
        return self._session


async def _note_reuse(_session: object, context: SimpleNamespace, _parameters: object) -> None:
    context.trace_request_ctx.used = True


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """The first bytes of the body, as far as they come soon."""
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while len(received) < MOST_BYTES and (
                chunk := await response.content.read(MOST_BYTES - len(received))
            ):
                received += chunk
    except (TimeoutError, aiohttp.ClientError, OSError):
        return bytes(received)
    return bytes(received)


def _words(text: str) -> str:
    """Text from outside as it can be stored and shown."""
    readable = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")
    return readable[:MOST_TEXT]
