"""A gateway on a real port. Each service is a small app that responds as the query of a request says."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import msgspec
import uvicorn

from ingot_chassis.http.server import http_protocol
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_contracts.identity.credentials import Authenticate, Authenticated
from ingot_contracts.testing.identity import FakeIdentity
from ingot_gateway.app import create_app
from ingot_gateway.settings import Settings
from ingot_gateway.upstreams import AsgiUpstream, HttpUpstream, Upstream
from ingot_testing.lifespan import started
from ingot_wire.client import Origin
from ingot_wire.server_protocol import DrainState

SERVICES = ("identity", "repos", "issues", "hooks", "mail", "web")
PUBLIC_URL = "http://ingot.test/"
LOOPBACK = "127.0.0.1"
NOBODY = f"http://{LOOPBACK}:1"
"""An address without a server."""
TOKEN = "t" * 40
STREAM = random.Random(1).randbytes(12_000_000)


@asynccontextmanager
async def serve_bounded(app: Any, *, port: int = 0) -> AsyncIterator[str]:
    """Serve ``app`` with the HTTP protocol of production, and yield its URL. It stops without uvicorn's
    delays."""
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=http_protocol(PUBLIC_URL),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    config.load()
    state = DrainState()
    server = await asyncio.get_running_loop().create_server(
        lambda: config.http_protocol_class(config=config, server_state=state, app_state={}),
        LOOPBACK,
        port,
        reuse_address=True,
    )
    try:
        yield f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


class EchoService:
    """Answers with a description of the request, or as ``?do=…`` says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self.paths: dict[str, Any] = {}
        """The operations of the service, for the API description."""
        self.called, self.disconnected, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/internal/openapi.json":
            document = {"openapi": "3.1.0", "info": {"title": self.name, "version": "1"}, "paths": self.paths}
            await answer(send, 200, msgspec.json.encode(document), (b"content-type", b"application/json"))
            return
        if scope["path"] == "/internal/operations":
            await answer(send, 200, b"{}", (b"content-type", b"application/json"))
            return
        self.calls += 1
        self.called.set()
        do = parse_qs(scope["query_string"].decode()).get("do", ["echo"])[0]
        try:
            await getattr(self, f"_{do}")(scope, receive, send)
        finally:
            self.ended.set()

    async def _echo(self, scope: Any, receive: Any, send: Any) -> None:
        size, digest = 0, hashlib.sha256()
        async for part in _body_of(receive):
            size += len(part)
            digest.update(part)
        description = {
            "service": self.name,
            "method": scope["method"],
            "path": scope["path"],
            "raw_path": scope["raw_path"].decode(),
            "query": scope["query_string"].decode(),
            "headers": [[name.decode(), value.decode()] for name, value in scope["headers"]],
            "size": size,
            "sha256": digest.hexdigest(),
        }
        body = msgspec.json.encode(description)
        await answer(send, 200, body, (b"content-type", b"application/json"))

    async def _created(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 201, b"{}", (b"link", b'</a>; rel="next"'), (b"link", b'</b>; rel="last"'))

    async def _nothing(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 204, b"")

    async def _move(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 302, b"", (b"location", b"/target"), (b"set-cookie", b"a=b"))

    async def _public(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 200, b"picture", (b"cache-control", b"public, max-age=3600"), (b"etag", b'"1"'))

    async def _private(self, _scope: Any, _receive: Any, send: Any) -> None:
        """Refuse without reading the body, as the git routes do when a credential is missing."""
        await answer(send, 401, b"sign in", (b"www-authenticate", b'Basic realm="Ingot"'))

    async def _missing(self, _scope: Any, _receive: Any, send: Any) -> None:
        """The error object, in two parts."""
        headers = [(b"content-type", b"application/json"), (b"retry-after", b"9")]
        await send({"type": "http.response.start", "status": 404, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"message": "no <file>', "more_body": True})
        await send({"type": "http.response.body", "body": b'", "url": ""}'})

    async def _packed(self, _scope: Any, _receive: Any, send: Any) -> None:
        await answer(send, 200, b"\x1f\x8bpacked", (b"content-encoding", b"gzip"))

    async def _hang(self, _scope: Any, receive: Any, _send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            continue
        self.disconnected.set()

    async def _drip(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer without end until the client disconnects."""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"drop", "more_body": True})
        await self._hang(scope, receive, send)

    async def _ponder(self, _scope: Any, receive: Any, send: Any) -> None:
        """An answer that takes its time."""
        async for _ in _body_of(receive):
            continue
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(1.5)
        await send({"type": "http.response.body", "body": b"pack"})

    async def _flood(self, scope: Any, _receive: Any, send: Any) -> None:
        megabytes = int(parse_qs(scope["query_string"].decode())["mb"][0])
        part = b"x" * 2**16
        length = [(b"content-length", str(megabytes * 2**20).encode())] if scope["method"] == "GET" else []
        await send({"type": "http.response.start", "status": 200, "headers": length})
        for _ in range(megabytes * 16):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _stream(self, _scope: Any, receive: Any, send: Any) -> None:
        """``STREAM`` in parts of many sizes, when the request is over."""
        async for _ in _body_of(receive):
            continue
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for begin, end in pairwise((0, 1, 1, 100, 70_000, 3_000_000, len(STREAM))):
            await send({"type": "http.response.body", "body": STREAM[begin:end], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _break(self, _scope: Any, receive: Any, send: Any) -> None:
        """A stream that has no end."""
        async for _ in _body_of(receive):
            continue
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": STREAM[:1_000_000], "more_body": True})
        raise ConnectionResetError("the service is killed")

    async def _cut(self, _scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"10")]})
        await send({"type": "http.response.body", "body": b"only", "more_body": True})
        raise ConnectionResetError("the service is killed")


class EchoIdentity(EchoService):
    """Echoes public requests. ``internal`` answers the gateway's own requests; it knows Ann (7).

    ``banned`` accounts may not sign in.
    """

    def __init__(self) -> None:
        super().__init__("identity")
        self.internal = FakeIdentity()
        self.banned = False
        self.add_credential(7, token=TOKEN)
        self.add_credential(7, name="ann", password="secret")

    def add_credential(
        self, user_id: int, *, address: str = LOOPBACK, appearance: str = "", **fields: str
    ) -> None:
        """Let requests from ``address`` sign in as ``user_id`` with these fields of Authenticate."""
        credential = Authenticate(address=address, **fields)
        self.internal.credentials[credential] = Authenticated(
            principal_token=f"principal of {user_id}", user_id=user_id, appearance=appearance
        )

    def add_enrolling_session(self, secret: str, **fields: str) -> None:
        """Let a session set up the second factor that the site requires."""
        credential = Authenticate(address=LOOPBACK, session=secret, **fields)
        self.internal.credentials[credential] = Authenticated(
            principal_token="", user_id=0, needs_second_factor=True
        )

    @property
    def authentications(self) -> int:
        """Return how often the gateway asked identity for the account of a credential."""
        return len(self.internal.paths)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] not in ("/internal/authenticate", "/internal/proxy-sign-ins"):
            await super().__call__(scope, receive, send)
        elif self.banned:
            await answer(send, 403, b'{"message": "this account may not sign in", "url": ""}')
        else:
            await self.internal(scope, receive, send)


async def _body_of(receive: Any) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def answer(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Send a whole answer, with its length unless it is empty."""
    length = [(b"content-length", str(len(body)).encode())] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
    await send({"type": "http.response.body", "body": body})


@dataclass
class World:
    """The gateway at ``url`` and the services behind it."""

    url: str
    services: dict[str, EchoService]
    identity: EchoIdentity


def gateway_settings(**fields: Any) -> Settings:
    """Settings of a gateway with a new key."""
    defaults = {
        "private_key": SigningKey.generate().text(),
        "background": False,
        "public_url": PUBLIC_URL,
    }
    return Settings(**{**defaults, **fields})


@asynccontextmanager
async def open_world(transport: str, *, away: str = "", **settings: Any) -> AsyncIterator[World]:
    """Start a gateway that reaches its services by ``transport``: ``http`` or ``asgi``.

    The service ``away`` is down.
    """
    identity = EchoIdentity()
    services = {"identity": identity, **{name: EchoService(name) for name in SERVICES[1:]}}
    configuration = gateway_settings(**settings)
    own = ServiceIdentity("gateway", SigningKey.read(configuration.private_key))
    async with AsyncExitStack() as stack:
        upstreams: dict[str, Upstream] = {}
        for name, app in services.items():
            if name == away:
                upstreams[name] = HttpUpstream(Origin(NOBODY))
            elif transport == "asgi":
                upstreams[name] = AsgiUpstream(app)
            else:
                url = await stack.enter_async_context(serve_bounded(app))
                upstreams[name] = HttpUpstream(Origin(url, patience=configuration.connect_seconds))
        gateway = create_app(configuration, peers=Peers.in_process(services, own), upstreams=upstreams)
        await stack.enter_async_context(started(gateway))
        url = await stack.enter_async_context(serve_bounded(gateway))
        yield World(url, services, identity)


@asynccontextmanager
async def open_client(transport: str, **settings: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a gateway with these settings."""
    async with open_world(transport, **settings) as world, aiohttp.ClientSession(world.url) as client:
        yield client


async def send_raw(url: str, request: bytes) -> bytes:
    """Everything that the server sends for ``request`` until it closes the connection."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()
