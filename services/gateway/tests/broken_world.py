"""A gateway in front of a service that sends broken answers, and the plans of its clients."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_gateway.app import create_app
from ingot_testing.lifespan import started
from ingot_wire.client import Origin

from .broken_answers import KINDS, REPEATS, answer_body
from .connection_plans import Plan
from .h11_streams import Message, MessageReader, StreamError
from .oracle_world import PATIENCE_SECONDS, CountedUpstream, MarkedService
from .raw_requests import Attempt, Sender
from .world import LOOPBACK, SERVICES, gateway_settings, serve_bounded

EARLY_SIZE = 200_000
"""Bytes of a body that the gateway sends in chunks, so the service can answer before its end."""
HEAD_ENDS = {"body_of_204": 204, "body_of_304": 304}


def broken_plan(seed: str, number: int) -> Plan:
    """Return the plan of one connection: some plain requests, one of a kind, and plain ones after it."""
    rng = random.Random(f"{seed}/{number}")
    sender, kinds = Sender(number, rng), tuple(KINDS)
    kind = kinds[number % len(kinds)]
    plan = Plan(number, kind)
    order = [*["plain"] * rng.randrange(3), kind, *["plain"] * rng.randrange(2)]
    plan.attempts = [_request(sender, one) for one in order]
    plan.attempts.append(sender.request("plain", method="GET", do="plain", close=True))
    is_pipelined = rng.random() < 0.3
    for index, attempt in enumerate(plan.attempts):
        plan.steps.append(attempt.data)
        if not is_pipelined:
            plan.steps.append(index + 1)
    return plan


def _request(sender: Sender, kind: str) -> Attempt:
    do = f"{kind}&repeats={sender.rng.choice(REPEATS)}"
    if kind == "body_of_head":
        return sender.request(kind, method="HEAD", do=do)
    if KINDS[kind].is_early:
        return sender.request(kind, method="POST", do=do, size=EARLY_SIZE, framing="chunks")
    return sender.request(kind, method=sender.rng.choice(("GET", "GET", "POST", "PUT", "DELETE")), do=do)


def answer_of(target: bytes) -> tuple[str, int]:
    """Return the kind of the answer that a request wants, and the repeats in its body."""
    query = parse_qs(urlsplit(target.decode()).query)
    return query["do"][0], int(query.get("repeats", ["0"])[0])


@dataclass(slots=True)
class Carried:
    """A request that was carried out. ``bytes_sent`` is the size of its answer."""

    mark: bytes
    method: str
    bytes_sent: int


class BrokenService:
    """Answers each request as its target wants, and records what must not happen."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.attempts: dict[bytes, Attempt] = {}
        self.carried: list[Carried] = []
        self.kinds: Counter[str] = Counter()
        self.failures: list[str] = []
        self.open: set[BrokenConnection] = set()
        self.spoiled_ended = asyncio.Event()

    def note_change(self) -> None:
        if any(connection.is_spoiled for connection in self.open):
            self.spoiled_ended.clear()
        else:
            self.spoiled_ended.set()


class BrokenConnection(asyncio.Protocol):
    """One connection from the gateway. h11 reads the requests."""

    def __init__(self, service: BrokenService) -> None:
        self._service = service
        self._reader = MessageReader()
        self._begun = 0
        self._transport: Any = None
        self._writing: asyncio.Task[None] | None = None
        self.is_spoiled = False
        """True after an answer with which the connection must end."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._service.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.open.discard(self)
        self._service.note_change()

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
        except StreamError as error:
            self._service.failures.append(f"a request cannot be read: {error}")
            self._transport.abort()
            return
        for message in self._reader.messages[self._begun :]:
            if self.is_spoiled:
                self._service.failures.append(f"{message.target!r} follows a broken answer")
            self._check(message)
            kind, _ = answer_of(message.target)
            if not KINDS[kind].is_early and not message.is_complete:
                break
            self._begun += 1
            self._answer(message)

    def _check(self, message: Message) -> None:
        [mark] = message.values(b"x-mark")
        attempt = self._service.attempts.get(mark)
        if attempt is None or (attempt.method, attempt.target) != (message.method, message.target):
            self._service.failures.append(f"no client sent {message.method} {message.target!r}")
        elif message.is_complete and message.body != attempt.body:
            self._service.failures.append(f"the body of {mark!r} arrived as {message.body[:300]!r}")

    def _answer(self, message: Message) -> None:
        kind, repeats = answer_of(message.target)
        [mark] = message.values(b"x-mark")
        rng = random.Random(f"{self._service.seed}/{mark!r}")
        answer = KINDS[kind].make(rng, mark, answer_body(mark, repeats))
        self._service.kinds[kind] += 1
        self._service.carried.append(Carried(mark, message.method, len(answer.data)))
        self.is_spoiled = KINDS[kind].outcome != "answered" or kind == "closed"
        self._service.note_change()
        data = answer.data
        if message.method == "HEAD" and kind != "body_of_head":
            data = data[: data.rindex(b"\r\n\r\n") + 4]
        self._writing = asyncio.create_task(self._write(rng, data, closes=answer.closes))

    async def _write(self, rng: random.Random, data: bytes, *, closes: bool) -> None:
        """Write an answer at once or in pieces, and close the connection after it if ``closes``."""
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 0, 1, 3))))
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if self._transport.is_closing():
                return
            if begin < end:
                self._transport.write(data[begin:end])
            await asyncio.sleep(0)
        if closes:
            self._transport.close()


@dataclass(slots=True)
class BrokenWorld:
    """The gateway at ``port``; all its services are ``service``."""

    port: int
    service: BrokenService
    upstream: CountedUpstream

    async def end(self) -> None:
        """Wait until no request runs, and until the connections with broken answers have ended.

        Raises TimeoutError.
        """
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.upstream.is_idle.wait()
            self.service.note_change()
            await self.service.spoiled_ended.wait()


@asynccontextmanager
async def open_broken_world(seed: str) -> AsyncIterator[BrokenWorld]:
    """Return a gateway and a service over sockets."""
    service, configuration = BrokenService(seed), gateway_settings()
    own = ServiceIdentity("gateway", SigningKey.read(configuration.private_key))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: BrokenConnection(service), LOOPBACK, 0)
    try:
        upstream = CountedUpstream(Origin(f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"))
        peers = Peers.in_process(dict.fromkeys(SERVICES, MarkedService()), own)
        app = create_app(configuration, peers=peers, upstreams=dict.fromkeys(SERVICES, upstream))
        async with started(app), serve_bounded(app) as gateway_url:
            yield BrokenWorld(int(gateway_url.rpartition(":")[2]), service, upstream)
        await upstream.close()
    finally:
        server.close()
