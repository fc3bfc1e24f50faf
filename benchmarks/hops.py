"""CPU of one request from service to service, with our client (`ingot_wire.client`) and with that of aiohttp.

The floor is the same exchange without HTTP: it writes bytes that are ready, and counts the bytes of an answer
of known size. The server is a process of its own, on the protocol of production. Rows of the gateway have the
CPU of a whole gateway, of which only the client for its upstream differs.

Clients take turns in one run; ``- ours`` and ``/ ours`` compare figures of the same turn. Each client gets
headers in the form that it takes, bytes or text; rows of the gateway include the conversion. Each request has
another path. ``python benchmarks/hops.py [--requests N] [--turns N] [--only NAME]``.
"""

import argparse
import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import aiohttp
import msgspec
import multidict
from yarl import URL

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import processor  # noqa: E402
import run  # noqa: E402
from backing import empty_servers  # noqa: E402

from ingot_chassis.command import run_command  # noqa: E402
from ingot_chassis.http.server import bound_socket, serve_app  # noqa: E402
from ingot_chassis.security.keys import SigningKey  # noqa: E402
from ingot_chassis.security.principal import PRINCIPAL_HEADER  # noqa: E402
from ingot_chassis.telemetry import configure_logging  # noqa: E402
from ingot_contracts.identity.credentials import Authenticated  # noqa: E402
from ingot_gateway.app import create_app  # noqa: E402
from ingot_gateway.route_limits import ProxiedExchange  # noqa: E402
from ingot_gateway.settings import Settings  # noqa: E402
from ingot_gateway.upstreams import HttpUpstream, UpstreamRequest  # noqa: E402
from ingot_wire.client import CONNECT_SECONDS, Origin, target  # noqa: E402
from ingot_wire.client_connection import IDLE_SECONDS, MAX_UNREAD_BYTES  # noqa: E402
from ingot_wire.framing import request_head  # noqa: E402

LOOPBACK = "127.0.0.1"
PUBLIC_URL = "http://ingot.test/"
PARTS = (b"x" * 65_536,) * 16
TOKEN = "t" * 40
PRINCIPAL = "p" * 450  # about the length of a real principal token
HEADERS = {  # as a gateway sends them to a service
    "user-agent": "cms/2.1 (+https://cms.example.org)",
    "accept": "application/json",
    "accept-encoding": "gzip, deflate, br",
    "accept-language": "en-GB,en;q=0.8",
    "content-type": "application/json",
    "x-request-id": "5f0c7d1b9a3e4c268d90b1f2e3a4c5d6",
    "x-forwarded-for": "203.0.113.24",
    PRINCIPAL_HEADER: PRINCIPAL,
}
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
ANSWER = msgspec.json.encode({"id": 7, "full_name": "ann/bench", "private": False, "description": "d" * 240})
DIRECT, DOWNLOAD = "/api/v1/repos/ann", "/download"

Figure = tuple[float, float]
"""CPU of one request in seconds: of the process with the client, and of its server."""
Measure = Callable[[int], Awaitable[Figure]]  # its parameter is the number of requests


@dataclass(frozen=True)
class Case:
    """Requests of one kind, with ``parts`` as the body.

    ``share`` is their number, relative to ``--requests``.
    """

    name: str
    path: str = DIRECT
    method: str = "GET"
    parts: tuple[bytes, ...] = ()
    is_streamed: bool = False
    callers: int = 1
    share: float = 1.0
    answer_bytes: int = len(ANSWER)
    answer_end: bytes = ANSWER

    def target(self, number: int) -> str:
        return f"{self.path}/{number:06}"

    def body(self) -> bytes | AsyncIterator[bytes]:
        return _iterated(self.parts) if self.is_streamed else b"".join(self.parts)


async def _iterated(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


CASES = (
    Case("GET 300 bytes"),
    Case(f"GET 300 bytes, {run.CONNECTIONS} callers", callers=run.CONNECTIONS, share=2.0),
    Case("POST 2 KB", method="POST", parts=(b"x" * 2048,)),
    Case("POST 1 MB in parts", method="POST", parts=PARTS, is_streamed=True, share=0.1),
    Case("GET 1 MB in parts", DOWNLOAD, share=0.1, answer_bytes=2**20, answer_end=b"0\r\n\r\n"),
)
GATEWAY_CASES = (
    run.Case("gateway: GET, anonymous", "/api/v1/repos/eve/%NUMBER%"),
    run.Case("gateway: GET with a token", "/api/v1/repos/eve/%NUMBER%", authorized=True),
)


async def respond(scope: Any, receive: Any, send: Any) -> None:
    """Answer for every service, as an ASGI app.

    If the headers of a request in CASES differ from the expected ones, the response body is empty.
    """
    if scope["type"] == "lifespan":
        for event in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{event}.complete"})
        return
    while (await receive())["more_body"]:
        continue
    body, headers, path = ANSWER, [(b"content-type", b"application/json")], scope["path"]
    if path == "/internal/authenticate":
        body = msgspec.json.encode(Authenticated(principal_token=PRINCIPAL, user_id=7))
    elif path.startswith(DIRECT) and len(scope["headers"]) != len(HEADERS) + 1 + (scope["method"] == "POST"):
        body = b""
    parts = PARTS if path.startswith(DOWNLOAD) else (body,)
    if parts is not PARTS:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def open_session() -> aiohttp.ClientSession:
    """Return a session with the features and bounds of our client, and no others."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        read_bufsize=MAX_UNREAD_BYTES // 2,  # it pauses a connection at twice as much
    )


class AiohttpUpstream:
    """A service behind aiohttp's client.

    It sends no request bodies and translates no errors: there are none.
    """

    def __init__(self, url: str) -> None:
        self._url, self._session = url, open_session()

    async def forward(self, request: UpstreamRequest, exchange: ProxiedExchange) -> None:
        exchange.watches_client = True
        url = URL(self._url + target(request.raw_path, request.query).decode(), encoded=True)
        headers = [(name.decode(), value.decode()) for name, value in request.headers]
        sending = self._session.request(request.method, url, headers=headers, allow_redirects=False)
        async with sending as answer:
            start: Any = {"type": "http.response.start", "status": answer.status}
            await exchange.send({**start, "headers": list(answer.raw_headers)})
            more = True
            while more:
                part = await answer.content.readany()
                more = not answer.content.at_eof()
                await exchange.send({"type": "http.response.body", "body": part, "more_body": more})

    async def close(self) -> None:
        await self._session.close()


async def serve(kind: str, *urls: str) -> None:
    """Serve as ``service``, or as a gateway with the client ``kind``. Print the port when it listens."""
    configure_logging()
    app: Any = respond
    if kind != "service":
        service, nats = urls
        key = SigningKey.generate().text()
        settings = Settings(private_key=key, public_url=PUBLIC_URL, identity_url=service, nats_url=nats)
        upstream = AiohttpUpstream(service) if kind == "aiohttp" else HttpUpstream(Origin(service))
        app = create_app(settings, upstreams={"repos": upstream})
    listener = bound_socket(LOOPBACK, 0)
    port = listener.getsockname()[1]
    announce = partial(print, port, flush=True)
    await serve_app(app, listener, public_url=PUBLIC_URL, drain_seconds=1, on_listening=announce)


class Process(NamedTuple):
    """A server process."""

    url: str
    pid: int

    def cpu(self) -> float:
        return processor.seconds({self.pid})


@contextmanager
def started(*arguments: str) -> Iterator[Process]:
    """Run ``serve`` with these arguments in a process of its own."""
    command = [sys.executable, __file__, "--serve", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if not (port := process.stdout.readline().strip()):
            raise SystemExit(f"a server does not start: {' '.join(command)}")
        yield Process(f"http://{LOOPBACK}:{port}", process.pid)
    finally:
        process.terminate()
        process.wait(10)


Client = Callable[[Case, int], Awaitable[int]]
"""Sends the request of a case with that number, and returns the size of the response body in bytes."""


async def call_ours(origin: Origin, case: Case, number: int) -> int:
    size, more = 0, True
    raw_target = case.target(number).encode()
    async with await origin.request(case.method, raw_target, RAW_HEADERS, case.body()) as answer:
        while more:
            part, more = await answer.read_part()
            size += len(part)
    return size


async def call_aiohttp(session: aiohttp.ClientSession, server_url: str, case: Case, number: int) -> int:
    size, more = 0, True
    url = URL(server_url + case.target(number), encoded=True)
    async with session.request(
        case.method, url, headers=HEADERS, data=case.body() or None, allow_redirects=False
    ) as answer:
        while more:
            size += len(await answer.content.readany())
            more = not answer.content.at_eof()
    return size


class CountedConnection(asyncio.Protocol):
    """A connection that writes bytes and counts those that come back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def exchange(self, frames: Sequence[bytes], size: int) -> None:
        """Write the frames, and return when ``size`` bytes have arrived."""
        self._left, self._answered = size, self._loop.create_future()
        for frame in frames:
            self._transport.write(frame)
            if self._writable is not None:
                await self._writable
        await self._answered

    def connection_made(self, transport: Any) -> None:
        self._transport, self._writable = transport, None

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left == 0:
            self._answered.set_result(None)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        self._writable.set_result(None)
        self._writable = None


def frames_of(case: Case, authority: str) -> list[bytes]:
    """Return the bytes of a request, in the pieces that are written."""
    head = request_head(case.method, case.target(0).encode(), authority.encode(), RAW_HEADERS)
    if case.is_streamed:
        chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in case.parts]
        return [head + b"transfer-encoding: chunked\r\n\r\n", *chunks, b"0\r\n\r\n"]
    body = b"".join(case.parts)
    length = b"content-length: %d\r\n" % len(body) if body else b""
    return [head + length + b"\r\n" + body]


def floor_client(authority: str) -> Client:
    """Return a client that sends the same bytes each time, on one of its idle connections."""
    host, _, port = authority.partition(":")
    idle: list[CountedConnection] = []
    exchanges: dict[str, tuple[list[bytes], int]] = {}
    loop = asyncio.get_running_loop()

    async def call(case: Case, _number: int) -> int:
        if case.name not in exchanges:
            frames = frames_of(case, authority)
            reader, writer = await asyncio.open_connection(host, port, limit=2**22)
            writer.writelines(frames)
            exchanges[case.name] = frames, len(await reader.readuntil(case.answer_end))
            writer.close()
        make = partial(CountedConnection, loop)
        connection = idle.pop() if idle else (await loop.create_connection(make, host, int(port)))[1]
        await connection.exchange(*exchanges[case.name])
        idle.append(connection)
        return case.answer_bytes

    return call


def check_extensions() -> None:
    """Raise SystemExit unless aiohttp uses its C extensions and that of multidict."""
    serialize = aiohttp.http_writer._serialize_headers  # noqa: SLF001 - nothing public says it
    parts = (aiohttp.http_parser.HttpResponseParser, serialize, multidict.CIMultiDict)
    modules = {part.__module__ for part in parts}
    if modules != {"aiohttp._http_parser", "aiohttp._http_writer", "multidict._multidict"}:
        raise SystemExit(f"aiohttp has no C extensions here: {modules}")


async def exchange(client: Client, case: Case, count: int) -> None:
    """Send ``count`` requests.

    Raises SystemExit if a response body does not have the expected size.
    """

    async def call(first: int) -> None:
        for number in range(first, count, case.callers):
            if (size := await client(case, number)) != case.answer_bytes:
                raise SystemExit(f"{case.name}: the body has {size} bytes, not {case.answer_bytes}")

    await asyncio.gather(*(call(first) for first in range(case.callers)))


async def measure_client(client: Client, case: Case, server: Process, requests: int) -> Figure:
    count = max(case.callers, int(requests * case.share))
    gc.collect()
    own, others = time.process_time(), server.cpu()
    await exchange(client, case, count)
    return (time.process_time() - own) / count, (server.cpu() - others) / count


async def measure_gateway(gateway: Process, case: run.Case, service: Process, requests: int) -> Figure:
    own, others = gateway.cpu(), service.cpu()
    count = run.load(gateway.url, case.request(TOKEN), requests)["count"]
    return (gateway.cpu() - own) / count, (service.cpu() - others) / count


async def print_rows(name: str, measures: dict[str, Measure], options: Any) -> None:
    """Measure each client in each turn, in alternating order, and print medians in microseconds."""
    if options.only not in name:
        return
    figures: dict[str, list[Figure]] = {client: [] for client in measures}
    for measure in measures.values():
        await measure(options.requests // 4)  # fill caches and open connections
    for turn in range(options.turns):
        for client in list(measures)[:: -1 if turn % 2 else 1]:
            figures[client].append(await measures[client](options.requests))
    print(name)
    ours = [figure[0] for figure in figures["ours"]]
    for client, of_turns in figures.items():
        own, others = zip(*of_turns, strict=True)
        print(
            f"    {client:<8}{median(own) * 1e6:>9.1f}{f'{min(own) * 1e6:.1f} to {max(own) * 1e6:.1f}':>20}"
            f"{median(map(float.__sub__, own, ours)) * 1e6:>+9.1f}"
            f"{median(map(float.__truediv__, own, ours)):>8.2f}{median(others) * 1e6:>9.1f}",
            flush=True,
        )


async def measure_all(service: Process, gateways: dict[str, Process], options: Any) -> None:
    async with open_session() as session:
        clients: dict[str, Client] = {
            "floor": floor_client(service.url.removeprefix("http://")),
            "ours": partial(call_ours, Origin(service.url)),
            "aiohttp": partial(call_aiohttp, session, service.url),
        }
        gc.freeze()  # as a server does when it has started
        for case in CASES:
            measures = {name: partial(measure_client, one, case, service) for name, one in clients.items()}
            await print_rows(case.name, measures, options)
    for case in GATEWAY_CASES:
        measures = {name: partial(measure_gateway, one, case, service) for name, one in gateways.items()}
        await print_rows(case.name, measures, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500, help="of each kind, client and turn")
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--only", default="", help="measure the requests whose name has this text")
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        run_command(lambda: serve(*options.serve))
        return
    check_extensions()
    loop = median(run.calibrate() for _ in range(9)) * 1e6
    print(
        f"µs of CPU, medians of {options.turns} turns; aiohttp {aiohttp.__version__}; a loop of run.py: "
        f"{loop:.0f} µs"
    )
    print(f"{'request':<12}{'client':>9}{'all turns':>20}{'- ours':>9}{'/ ours':>8}{'server':>9}")
    with empty_servers() as (servers, _), started("service") as service, ExitStack() as stack:
        urls = service.url, servers.nats()
        gateways = {name: stack.enter_context(started(name, *urls)) for name in ("ours", "aiohttp")}
        run_command(lambda: measure_all(service, gateways, options))


if __name__ == "__main__":
    main()
