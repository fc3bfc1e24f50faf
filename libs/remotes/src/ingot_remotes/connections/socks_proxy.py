"""A SOCKS 5 proxy on loopback for git. It connects only to addresses that egress allows.

Git resolves names and connects by itself. So git must use this proxy (RFC 1928), and sends the name to it.
This works for http, https, git and ssh. Each job gets a ticket (RFC 1929) for one host and port. For each
connection the name is resolved, and every address is checked. The proxy connects only to a checked address.
The ticket counts received bytes, and records the time of the last byte.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import structlog

from ingot_chassis.security.egress import Egress, Resolve, resolve_host
from ingot_chassis.security.own_servers import OwnServers

log = structlog.get_logger()

CONNECT_SECONDS = 10.0
HANDSHAKE_SECONDS = 10.0
CHUNK = 256 * 1024
# RFC 1928, section 6.
GRANTED, NOT_ALLOWED, UNREACHABLE, NOT_SUPPORTED = 0, 2, 4, 7


@dataclass
class Ticket:
    """The right of one job to reach one host and port and to receive at most ``most_bytes``.

    ``received`` counts bytes. ``at`` is the monotonic time of the last byte. ``refusal`` is the reason why a
    connection was denied; empty if none was denied.
    """

    host: str
    port: int
    most_bytes: int
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    received: int = 0
    at: float = field(default_factory=time.monotonic)
    refusal: str = ""

    @property
    def exceeded(self) -> bool:
        return self.received > self.most_bytes


class SocksProxy:
    """A proxy that listens from the first ticket until it is closed."""

    def __init__(self, egress: Egress, own_servers: OwnServers, *, resolve: Resolve = resolve_host) -> None:
        self._egress, self._own_servers, self._resolve = egress, own_servers, resolve
        self._tickets: dict[str, Ticket] = {}
        self._connections: dict[str, set[asyncio.Task[None]]] = {}
        self._server: asyncio.Server | None = None
        self._starting = asyncio.Lock()

    async def close(self) -> None:
        """Stop listening. All tickets must have ended."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @asynccontextmanager
    async def ticket(self, host: str, port: int, most_bytes: int) -> AsyncIterator[tuple[Ticket, int]]:
        """Yield a ticket and the port of the proxy. Connections of the ticket end with the block."""
        async with self._starting:
            if self._server is None:
                self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        ticket = Ticket(host.lower(), port, most_bytes)
        self._tickets[ticket.name] = ticket
        self._connections[ticket.name] = set()
        try:
            yield ticket, self._server.sockets[0].getsockname()[1]
        finally:
            del self._tickets[ticket.name]
            for task in self._connections.pop(ticket.name):
                task.cancel()

    async def refusal(self, host: str, port: int) -> str:
        """Return the reason to reject ``host``.

        Empty if all its addresses are allowed, or if the name cannot be resolved now.
        """
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                answers = await self._resolve(host, port)
        except (TimeoutError, OSError, UnicodeError):
            return ""
        return await self._refusal(host, port, [answer["host"] for answer in answers])

    async def _refusal(self, host: str, port: int, addresses: list[str]) -> str:
        refusal = self._egress.refusal(host, port, addresses)
        return refusal or await self._own_servers.refusal(host, port, addresses)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with (
            contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError),
            contextlib.closing(writer),
        ):
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                ticket = await self._admit(reader, writer)
            if ticket is None:
                return
            task = asyncio.current_task()
            connections = self._connections.get(ticket.name)
            if task is None or connections is None:
                return
            connections.add(task)
            try:
                await self._join(ticket, reader, writer)
            finally:
                connections.discard(task)

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Ticket | None:
        """Check the name and password of a connection. Return its ticket, or None."""
        version, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        if version != 5 or 2 not in methods:
            writer.write(b"\x05\xff")
            return None
        writer.write(b"\x05\x02")
        _version, length = await reader.readexactly(2)
        name = (await reader.readexactly(length)).decode("latin-1")
        token = await reader.readexactly((await reader.readexactly(1))[0])
        ticket = self._tickets.get(name)
        if ticket is None or not hmac.compare_digest(ticket.token.encode(), token):
            writer.write(b"\x01\x01")
            return None
        writer.write(b"\x01\x00")
        return ticket

    async def _join(self, ticket: Ticket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect to the host of the ticket and copy bytes in both directions."""
        connection = await self._connect(ticket, reader, writer)
        if connection is None:
            return
        far_reader, far_writer = connection
        with contextlib.closing(far_writer):
            writer.write(_answer(GRANTED))
            up = asyncio.create_task(_copy(reader, far_writer))
            try:
                await self._receive(ticket, far_reader, writer)
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)

    async def _connect(
        self, ticket: Ticket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            host, port, command = await _read_request(reader)
        if command != 1:
            writer.write(_answer(NOT_SUPPORTED))
            return None
        if (host, port) != (ticket.host, ticket.port):
            ticket.refusal = "the connection is not to the host and port of the ticket"
            writer.write(_answer(NOT_ALLOWED))
            return None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                answers = await self._resolve(host, port)
        except (TimeoutError, OSError, UnicodeError):
            writer.write(_answer(UNREACHABLE))
            return None
        addresses = [answer["host"] for answer in answers]
        if refusal := await self._refusal(host, port, addresses):
            log.warning("fetch refused", reason=refusal)
            ticket.refusal = refusal
            writer.write(_answer(NOT_ALLOWED))
            return None
        for address in addresses:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port)
        writer.write(_answer(UNREACHABLE))
        return None

    async def _receive(
        self, ticket: Ticket, far_reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while not ticket.exceeded and (chunk := await far_reader.read(CHUNK)):
            ticket.received += len(chunk)
            ticket.at = time.monotonic()
            writer.write(chunk)
            await writer.drain()


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, int, int]:
    """Return host, port and command of a request (RFC 1928, section 4)."""
    _version, command, _reserved, kind = await reader.readexactly(4)
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode("latin-1").lower()
    else:
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
    return host, int.from_bytes(await reader.readexactly(2), "big"), command


def _answer(reply: int) -> bytes:
    return bytes([5, reply, 0, 1]) + bytes(6)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()
