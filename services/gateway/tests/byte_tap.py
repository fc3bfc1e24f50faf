"""A TCP relay between the gateway and a service that records the bytes of both directions in their order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from .world import LOOPBACK

REQUEST, RESPONSE, SURPLUS = "request", "response", "surplus"
SURPLUS_HEADER = b"x-surplus"
"""A response with this header is followed by ``SURPLUS_RESPONSE`` in the same write as its end.

It belongs to no request.
"""
LAST_CHUNK = b"0\r\n\r\n"
SURPLUS_RESPONSE = b"HTTP/1.1 200 OK\r\nx-mark: s0i0z\r\ncontent-length: 5\r\n\r\ns0i0z"


class Exchange(NamedTuple):
    """A request as the app of the service received it.

    ``parts`` is the body, None if the app did not read it.
    """

    method: str
    target: bytes
    mark: bytes
    parts: list[bytes] | None
    ended: list[str]
    """``complete`` or ``disconnected`` once the app has read the body."""


class TappedConnection:
    """The bytes of one connection, as pairs of direction and data, and the exchanges of the app on it."""

    def __init__(self, tap: "ByteTap") -> None:
        self.tap = tap
        self.record: list[tuple[str, bytes]] = []
        self.exchanges: list[Exchange] = []
        self.open_sides = 0
        self.near: _Side | None = None
        """The side of the gateway."""


class _Side(asyncio.Protocol):
    """One of the two sockets of a connection. What it reads goes to ``peer``, and so does its end."""

    def __init__(self, connection: TappedConnection, direction: str) -> None:
        self.connection, self.direction = connection, direction
        self.peer: _Side | None = None
        self.transport: Any = None
        self.early: list[bytes] = []
        self.adds_surplus = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.connection.open_sides += 1
        if self.direction == RESPONSE:
            self.connection.tap.by_port[transport.get_extra_info("sockname")[1]] = self.connection

    def data_received(self, data: bytes) -> None:
        self.connection.record.append((self.direction, data))
        if self.direction == RESPONSE and SURPLUS_HEADER in data:
            self.adds_surplus = True
        if self.adds_surplus and (b"content-length" in data or data.endswith(LAST_CHUNK)):
            self.adds_surplus = False
            self.connection.record.append((SURPLUS, SURPLUS_RESPONSE))
            data += SURPLUS_RESPONSE
        if self.peer is None:
            self.early.append(data)
        else:
            self.peer.transport.write(data)

    def eof_received(self) -> None:
        """Let the transport close: services and gateway end both directions at once."""

    def connection_lost(self, exc: Exception | None) -> None:
        if self.peer is not None:
            self.peer.transport.close()
        self.connection.open_sides -= 1
        self.connection.tap.note_end()

    def pause_writing(self) -> None:
        if self.peer is not None and not self.peer.transport.is_closing():
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None and not self.peer.transport.is_closing():
            self.peer.transport.resume_reading()


class ByteTap:
    """All connections since the last ``take``."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connections: list[TappedConnection] = []
        self._openings: set[asyncio.Task[None]] = set()
        self.all_ended = asyncio.Event()
        self.all_ended.set()
        self.by_port: dict[int, TappedConnection] = {}
        """The connection of each port from which the service is reached."""

    def accept(self) -> asyncio.Protocol:
        """Return the side of the gateway for a new connection."""
        connection = TappedConnection(self)
        self._connections.append(connection)
        self.all_ended.clear()
        near = connection.near = _Side(connection, REQUEST)
        task = asyncio.create_task(self._open(near, _Side(connection, RESPONSE)))
        self._openings.add(task)
        task.add_done_callback(self._openings.discard)
        return near

    async def _open(self, near: _Side, far: _Side) -> None:
        await asyncio.get_running_loop().create_connection(lambda: far, LOOPBACK, self._port)
        near.peer, far.peer = far, near
        for data in near.early:
            far.transport.write(data)
        if near.transport is None or near.transport.is_closing():
            far.transport.close()

    def note_end(self) -> None:
        """Notice that a side has ended."""
        if not self._openings and not any(connection.open_sides for connection in self._connections):
            self.all_ended.set()

    def send_surplus(self) -> int:
        """Send a response that belongs to no request on each open connection.

        Returns the number of connections.
        """
        idle = [one for one in self._connections if one.near is not None and one.open_sides == 2]
        for connection in idle:
            connection.record.append((SURPLUS, SURPLUS_RESPONSE))
            connection.near.transport.write(SURPLUS_RESPONSE)
        return len(idle)

    def take(self) -> list[TappedConnection]:
        """Return all connections and forget them."""
        connections, self._connections = self._connections, []
        self.by_port.clear()
        return connections


@asynccontextmanager
async def tapped(url: str) -> AsyncIterator[tuple[str, ByteTap]]:
    """The URL of a relay to the server at ``url``, and the tap of its connections."""
    tap = ByteTap(int(url.rpartition(":")[2]))
    server = await asyncio.get_running_loop().create_server(tap.accept, LOOPBACK, 0)
    try:
        yield f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}", tap
    finally:
        server.close()
