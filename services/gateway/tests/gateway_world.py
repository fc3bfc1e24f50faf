"""A gateway on a real port, and in place of the services one small app that does what its query says."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import uvicorn
from uvicorn.server import ServerState

from ingot_chassis.keys import SigningKey
from ingot_chassis.peers import AsgiTransport, Peer, Peers
from ingot_chassis.principal import ServiceIdentity
from ingot_chassis.protocol import HEAD_SECONDS, MAX_HEAD_BYTES, bounded_http
from ingot_gateway.app import create_app
from ingot_gateway.settings import Settings
from ingot_gateway.upstreams import AsgiUpstream, HttpUpstream, Upstream

SERVICES = ("identity", "repos", "issues", "hooks")
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


@asynccontextmanager
async def serving(app: Any, *, port: int = 0) -> AsyncIterator[str]:
    """The URL of ``app`` while it is served as in production, without uvicorn's pauses at the end."""
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=bounded_http("http://ingot.test/", MAX_HEAD_BYTES, HEAD_SECONDS),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: config.http_protocol_class(config=config, server_state=state, app_state={}),
        "127.0.0.1",
        port,
        reuse_address=True,
    )
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


@asynccontextmanager
async def living(app: Any) -> AsyncIterator[None]:
    """``app`` between its start and its end."""
    told, said = asyncio.Queue[Any](), asyncio.Queue[Any]()
    life = asyncio.create_task(
        app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, told.get, said.put)
    )
    await told.put({"type": "lifespan.startup"})
    assert (await said.get())["type"] == "lifespan.startup.complete"
    yield
    await told.put({"type": "lifespan.shutdown"})
    await life


@dataclass
class StandIn:
    """Answers like a service: ``?do=…`` says how; without it tells what was asked."""

    name: str
    left: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    calls: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.calls += 1
        self.asked.set()
        do = parse_qs(scope["query_string"].decode()).get("do", ["tell"])[0]
        await getattr(self, f"_{do}")(scope, receive, send)

    async def _tell(self, scope: Any, receive: Any, send: Any) -> None:
        size, digest = 0, hashlib.sha256()
        async for part in body_of(receive):
            size += len(part)
            digest.update(part)
        told = {
            "service": self.name,
            "method": scope["method"],
            "path": scope["path"],
            "raw_path": scope["raw_path"].decode(),
            "query": scope["query_string"].decode(),
            "headers": [[k.decode(), v.decode()] for k, v in scope["headers"]],
            "size": size,
            "sha256": digest.hexdigest(),
        }
        await answer(send, 200, json.dumps(told).encode(), (b"content-type", b"application/json"))

    async def _created(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 201, b"{}", (b"link", b'</a>; rel="next"'), (b"link", b'</b>; rel="last"'))

    async def _nothing(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 204, b"")

    async def _move(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 302, b"", (b"location", b"/elsewhere"), (b"set-cookie", b"a=b"))

    async def _private(self, _scope: Any, _receive: Any, send: Any) -> None:
        """Refuse without reading the body, as git is asked to sign in."""
        await answer(send, 401, b"sign in", (b"www-authenticate", b'Basic realm="Ingot"'))

    async def _packed(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 200, b"\x1f\x8bpacked", (b"content-encoding", b"gzip"))

    async def _hang(self, _scope: Any, receive: Any, _send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            continue
        self.left.set()

    async def _drip(self, _scope: Any, receive: Any, send: Any) -> None:
        """Answer without end until the client leaves."""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"drop", "more_body": True})
        await self._hang(_scope, receive, send)

    async def _flood(self, scope: Any, _receive: Any, send: Any) -> None:
        megabytes = int(parse_qs(scope["query_string"].decode())["mb"][0])
        part = b"x" * 2**16
        length = str(megabytes * 2**20).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        for _ in range(megabytes * 16):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _cut(self, _scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"10")]})
        await send({"type": "http.response.body", "body": b"only", "more_body": True})
        raise ConnectionResetError("the service is killed")


@dataclass
class StandInIdentity(StandIn):
    """Also swaps the tokens and passwords it is told of for statements."""

    tokens: dict[str, int] = field(default_factory=dict)
    passwords: dict[tuple[str, str], int] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    down: bool = False
    questions: list[dict[str, str]] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != "/internal/authenticate":
            await super().__call__(scope, receive, send)
            return
        if self.down:
            raise ConnectionRefusedError
        question = json.loads(b"".join([part async for part in body_of(receive)]))
        self.questions.append(question)
        named = (question.get("name", ""), question.get("password", ""))
        user_id = self.tokens.get(question.get("token", "")) or self.passwords.get(named, 0)
        if question.get("token") in self.forbidden:
            refusal = {"message": "this account may not sign in", "url": ""}
            await answer(send, 403, json.dumps(refusal).encode())
            return
        told = {"statement": f"statement of {user_id}" if user_id else "", "user_id": user_id}
        await answer(send, 200, json.dumps(told).encode())


async def body_of(receive: Any) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def answer(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    sized = [*headers, (b"content-length", str(len(body)).encode())] if body else list(headers)
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})


@dataclass
class World:
    """The gateway at ``url`` and who is behind it."""

    url: str
    services: dict[str, StandIn]

    @property
    def identity(self) -> StandInIdentity:
        found = self.services["identity"]
        assert isinstance(found, StandInIdentity)
        return found


def settings(**changed: Any) -> Settings:
    given = {
        "private_key": SigningKey.generate().text(),
        "background": False,
        "public_url": "http://ingot.test/",
    }
    return Settings(**{**given, **changed})


@asynccontextmanager
async def world(transport: str, **changed: Any) -> AsyncIterator[World]:
    """A served gateway whose services are reached by ``transport``: ``http`` or ``asgi``."""
    services: dict[str, StandIn] = {name: StandIn(name) for name in SERVICES[1:]}
    identity = StandInIdentity("identity", tokens={"t" * 40: 7}, passwords={("ann", "secret"): 7})
    services["identity"] = identity
    configured = settings(**changed)
    own = ServiceIdentity("gateway", SigningKey.read(configured.private_key))
    peers = Peers({name: Peer(name, AsgiTransport(app), own) for name, app in services.items()})
    async with AsyncExitStack() as stack:
        upstreams: dict[str, Upstream] = {}
        for name, app in services.items():
            if transport == "asgi":
                upstreams[name] = AsgiUpstream(app)
            else:
                url = await stack.enter_async_context(serving(app))
                upstreams[name] = HttpUpstream(url, patience=configured.connect_seconds)
        gateway = create_app(configured, peers=peers, upstreams=upstreams)
        await stack.enter_async_context(living(gateway))
        url = await stack.enter_async_context(serving(gateway))
        yield World(url, services)


@asynccontextmanager
async def client_of_world(transport: str, **changed: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a gateway with these settings."""
    async with world(transport, **changed) as made, aiohttp.ClientSession(made.url) as client:
        yield client


async def raw(url: str, request: bytes) -> bytes:
    """All that comes back for ``request`` until the server closes."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()
