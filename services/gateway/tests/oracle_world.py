"""A gateway in front of one service behind a tap, and a client that sends prepared bytes."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_gateway.app import create_app
from ingot_gateway.route_limits import ProxiedExchange
from ingot_gateway.upstreams import HttpUpstream, UpstreamRequest
from ingot_testing.lifespan import started
from ingot_wire.client import Origin

from .byte_tap import SURPLUS_HEADER, ByteTap, Exchange, TappedConnection, tapped
from .connection_plans import Continue, Plan
from .h11_streams import MessageReader, StreamError
from .world import LOOPBACK, SERVICES, answer, gateway_settings, serve_bounded

LARGE_REPEATS = 15_000
STATUSES = {"early": 403, "nothing": 204, "unchanged": 304, "error": 500}
PATIENCE_SECONDS = 20.0
"""A connection that does not end in this time is a failure; none needs more than milliseconds."""
NO_LINGER = struct.pack("ii", 1, 0)


def answer_status(do: str) -> int:
    """Return the status of the answer to ``?do=…``."""
    return STATUSES.get(do, 200)


def answer_body(do: str, mark: bytes, body: bytes) -> bytes:
    """Return the body of the answer to ``?do=…``."""
    if do in ("nothing", "unchanged"):
        return b""
    if do in ("early", "surplus"):
        return mark
    if do == "large":
        return mark * LARGE_REPEATS
    return mark + b"|" + body


class MarkedService:
    """Records each request in the connection on which it arrived, and puts its mark into the answer."""

    def __init__(self) -> None:
        self.tap: ByteTap | None = None
        self.running = 0
        self.is_idle = asyncio.Event()
        self.is_idle.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.running += 1
        self.is_idle.clear()
        try:
            await self._answer(scope, receive, send)
        finally:
            self.running -= 1
            if not self.running:
                self.is_idle.set()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        do = parse_qs(scope["query_string"].decode("latin-1")).get("do", ["echo"])[0]
        mark = b",".join([value for name, value in scope["headers"] if name == b"x-mark"])
        query = scope["query_string"]
        target = scope["raw_path"] + b"?" + query if query else scope["raw_path"]
        parts: list[bytes] | None = None if do == "early" else []
        exchange = Exchange(scope["method"], target, mark, parts, [])
        if self.tap is not None:
            self.tap.by_port[scope["client"][1]].exchanges.append(exchange)
        if parts is not None:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    exchange.ended.append("disconnected")
                    return
                parts.append(message["body"])
                more = message["more_body"]
        exchange.ended.append("complete")
        body = answer_body(do, mark, b"".join(parts or []))
        headers = [(b"x-mark", mark)]
        if do.startswith("surplus"):
            headers.append((SURPLUS_HEADER, do.encode()))
        if do == "close":
            headers.append((b"connection", b"close"))
        if do not in ("chunks", "surplus_chunks"):
            await answer(send, answer_status(do), body, *headers)
            return
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for cut in (slice(0, 1), slice(1, 20), slice(20, 70_000), slice(70_000, None)):
            await send({"type": "http.response.body", "body": body[cut], "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


class CountedUpstream(HttpUpstream):
    """An upstream that tells when it has no request."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        self._running = 0
        self.is_idle = asyncio.Event()
        self.is_idle.set()

    async def forward(self, request: UpstreamRequest, exchange: ProxiedExchange) -> None:
        self._running += 1
        self.is_idle.clear()
        try:
            await super().forward(request, exchange)
        finally:
            self._running -= 1
            if not self._running:
                self.is_idle.set()


class TappedWorld:
    """The gateway at ``port``; all its services are one, behind a tap."""

    def __init__(self, port: int, service: MarkedService, upstream: CountedUpstream, tap: ByteTap) -> None:
        self.port, self.service, self.upstream, self.tap = port, service, upstream, tap

    async def end_connections(self) -> tuple[list[TappedConnection], bool]:
        """Wait for the requests that run, and end the connections to the service.

        Returns them, and True if all ended.
        """
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self.upstream.is_idle.wait()
                await self.upstream.close()
                await self.tap.all_ended.wait()
                await self.service.is_idle.wait()
        except TimeoutError:
            return self.tap.take(), False
        return self.tap.take(), True


@asynccontextmanager
async def open_tapped_world() -> AsyncIterator[TappedWorld]:
    """A gateway and a service over sockets, with a tap between them."""
    service = MarkedService()
    configuration = gateway_settings()
    own = ServiceIdentity("gateway", SigningKey.read(configuration.private_key))
    async with serve_bounded(service) as url, tapped(url) as (tap_url, tap):
        service.tap = tap
        upstream = CountedUpstream(Origin(tap_url))
        peers = Peers.in_process(dict.fromkeys(SERVICES, service), own)
        app = create_app(configuration, peers=peers, upstreams=dict.fromkeys(SERVICES, upstream))
        async with started(app), serve_bounded(app) as gateway_url:
            yield TappedWorld(int(gateway_url.rpartition(":")[2]), service, upstream, tap)


class RawClient(asyncio.Protocol):
    """One connection of a client: sends the steps of a plan and reads the answers with h11."""

    def __init__(self, methods: Sequence[str]) -> None:
        self.reader = MessageReader(methods)
        self.received: list[bytes] = []
        self.failure: StreamError | None = None
        self.is_cut = False
        """True if the connection ended within a response."""
        self.error: Exception | None = None
        self._transport: Any = None
        self._news = asyncio.Event()
        self._ended = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.received.append(data)
        try:
            if self.failure is None:
                self.reader.feed(data)
        except StreamError as failure:
            self.failure = failure
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self.error = True, exc
        if self.failure is None:
            try:
                self.reader.feed(b"")
            except StreamError:
                self.is_cut = True
        self._news.set()

    async def run(self, plan: Plan) -> None:
        """Send all steps, end as the plan says, and wait for the end of the connection."""
        for step in plan.steps:
            if isinstance(step, bytes):
                if self._ended:
                    break
                self._transport.write(step)
                await asyncio.sleep(0)
            elif isinstance(step, Continue):
                await self._wait(lambda step=step: self.reader.interim or self.reader.complete > step.index)
            else:
                await self._wait(lambda step=step: self.reader.complete >= step)
        if plan.ending == "half-close" and not self._ended:
            self._transport.write_eof()
        elif plan.ending == "close":
            self._transport.close()
        elif plan.ending == "reset" and not self._ended:
            connection = self._transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            self._transport.abort()
        await self._wait(lambda: False)

    async def _wait(self, is_enough: Callable[[], object]) -> None:
        """Wait until enough was read, or for the end of the connection."""
        while not self._ended and not is_enough():
            self._news.clear()
            await self._news.wait()


async def run_client(port: int, plan: Plan) -> RawClient:
    """Run a plan on a new connection. Raises TimeoutError if the connection does not end."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: RawClient(plan.methods), LOOPBACK, port)
        await client.run(plan)
    return client
