"""A process that gets SIGTERM: what its clients have when it has ended."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from ingot_chassis.http.drain import DrainingServer, unsent_bytes
from ingot_chassis.http.server import bound_socket, http_protocol

PROGRAM = Path(__file__).with_name("draining_server.py")
LOOPBACK = "127.0.0.1"
LARGE = 1_000_000
"""More than a client with a small buffer takes, less than the kernel takes from the server."""
WAITING = "waiting until the clients have the answers"


class DrainingProcess:
    """The program, and requests to it."""

    def __init__(self, process: asyncio.subprocess.Process, host: str, port: int) -> None:
        self.process, self._host, self.port = process, host, port

    async def line(self, words: str) -> bool:
        """Read on until it says ``words``; False if it ends before."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            if words in line.decode():
                return True
        return False

    async def ask(
        self, path: str, *, limit: int = 2**16
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self._host, self.port, limit=limit)
        send(writer, path)
        return reader, writer

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    async def end(self) -> int:
        return await asyncio.wait_for(self.process.wait(), 30)


def send(writer: asyncio.StreamWriter, path: str) -> None:
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


async def head(reader: asyncio.StreamReader) -> str:
    return (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode().lower()


@asynccontextmanager
async def draining_process(
    *,
    host: str = LOOPBACK,
    drain: int = 30,
    handover: float = 0,
    handover_limit: float = 0,
    prefix: tuple[str, ...] = (),
) -> AsyncIterator[DrainingProcess]:
    process = await asyncio.create_subprocess_exec(
        *prefix,
        sys.executable,
        str(PROGRAM),
        host,
        *map(str, (drain, handover, handover_limit)),
        stdout=asyncio.subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        while not (line := await process.stdout.readline()).strip().isdigit():
            assert line, "the program ended"
        yield DrainingProcess(process, host, int(line))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_process_ends_when_its_slow_clients_have_every_byte():
    async with draining_process() as server:
        reader, writer = await server.ask(f"/bytes/{LARGE}", limit=2**10)
        await head(reader)
        server.terminate()
        assert await server.line(WAITING)
        assert unsent_bytes(server.port) > 0
        body = await reader.readexactly(LARGE)
        assert await reader.read() == b""
        writer.close()
        assert await server.end() == -signal.SIGTERM

    assert len(body) == LARGE


async def test_a_client_that_takes_nothing_is_waited_for_until_the_time_is_over():
    async with draining_process(drain=1) as server:
        reader, writer = await server.ask(f"/bytes/{LARGE}", limit=2**10)
        await head(reader)
        server.terminate()
        assert await server.end() == -signal.SIGTERM
        writer.close()


async def test_new_requests_are_answered_while_an_old_one_runs_and_each_answer_ends_its_connection():
    async with draining_process() as server:
        idle_reader, idle = await server.ask("/bytes/2")
        assert "connection: close" not in await head(idle_reader)
        await idle_reader.readexactly(2)
        old_reader, old = await server.ask("/wait")
        assert await server.line("waits")
        server.terminate()
        assert await server.line("draining")

        new_reader, new = await server.ask("/bytes/2")
        assert "connection: close" in await head(new_reader)
        send(idle, "/bytes/2")
        assert "connection: close" in await head(idle_reader)
        last_reader, last = await server.ask("/go")
        for reader in (last_reader, old_reader):
            assert "connection: close" in await head(reader)
            assert await reader.read() == b"xx"
        assert await server.end() == -signal.SIGTERM
        for writer in (idle, old, new, last):
            writer.close()


async def answered(server: DrainingProcess, path: str) -> bool:
    """Return whether a request on a new connection is answered."""
    try:
        reader, writer = await server.ask(path)
        await head(reader)
    except (ConnectionError, asyncio.IncompleteReadError):
        return False
    writer.close()
    return True


async def test_a_process_answers_on_while_it_is_asked():
    """Its successor may need longer to start than balancers to forget."""
    clock = asyncio.get_running_loop().time
    async with draining_process(handover=3, handover_limit=60) as server:
        server.terminate()
        assert await server.line("draining")
        end = clock() + 4
        while clock() < end:
            assert await answered(server, "/bytes/2")
        assert await server.end() == -signal.SIGTERM


@pytest.mark.parametrize(("path", "limit"), [("/readyz", 60), ("/bytes/2", 1)])
async def test_a_process_ends_that_only_probes_ask_and_one_that_is_asked_for_too_long(path, limit):
    async with draining_process(handover=1, handover_limit=limit) as server:
        server.terminate()
        assert await server.line("draining")
        async with asyncio.timeout(30):
            while await answered(server, path):
                pass
        assert await server.end() == -signal.SIGTERM


POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
"""Its client must not send it again."""


async def server_of_this_process() -> tuple[DrainingServer, socket.socket]:
    """It answers everything with ``ok``."""

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    listener = bound_socket(LOOPBACK, 0)
    protocol = http_protocol("http://x")
    config = uvicorn.Config(app, interface="asgi3", lifespan="off", http=protocol, ws="none", log_config=None)
    config.load()
    server = DrainingServer(config, 0, 0)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    return server, listener


async def test_a_connection_that_nobody_has_taken_yet_is_answered():
    """It waits in the kernel when the server stops to listen."""
    server, listener = await server_of_this_process()
    with socket.create_connection(listener.getsockname()) as client:
        client.sendall(POST)
        await server.shutdown(sockets=[listener])
        client.settimeout(10)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")


async def test_a_request_that_has_come_over_an_idle_connection_is_answered():
    """It waits in the kernel when the connection would be closed."""
    server, listener = await server_of_this_process()
    with socket.create_connection(listener.getsockname()) as client:
        async with asyncio.timeout(30):
            while not server.server_state.connections:
                await asyncio.sleep(0)
        (connection,) = server.server_state.connections
        client.sendall(POST)
        connection.shutdown()
        await server.shutdown(sockets=[listener])
        client.settimeout(10)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        assert connection.transport.is_closing()


@pytest.fixture
def slow_link():
    """Return program prefixes for server and client in two network namespaces, with 8 Mbit/s between them."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("tc")):
        pytest.skip("network namespaces need root, ip and tc")
    server, client = (f"ingot-{side}-{os.getpid()}" for side in "sc")
    run = lambda command: subprocess.run(command.split(), capture_output=True, check=True)  # noqa: E731
    try:
        for name in (server, client):
            run(f"ip netns add {name}")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    try:
        run(f"ip -n {server} link add veth0 type veth peer name veth1 netns {client}")
        run(f"ip -n {server} addr add 10.111.0.1/24 dev veth0")
        run(f"ip -n {client} addr add 10.111.0.2/24 dev veth1")
        run(f"ip -n {server} link set veth0 up")
        run(f"ip -n {client} link set veth1 up")
        run(f"ip netns exec {server} tc qdisc add dev veth0 root tbf rate 8mbit burst 16kb latency 300ms")
        yield server, client
    finally:
        for name in (server, client):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


CLIENT = """
import socket, sys
with socket.create_connection(("10.111.0.1", int(sys.argv[1]))) as client:
    client.settimeout(5)
    client.sendall(b"GET /bytes/%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" % sys.argv[2].encode())
    size = len(client.recv(1))
    print("begun", flush=True)
    while part := client.recv(65536):
        size += len(part)
    print(size, flush=True)
"""


async def test_nothing_is_lost_when_the_network_ends_with_the_process(slow_link):
    server_side, client_side = slow_link
    async with draining_process(host="10.111.0.1", prefix=("ip", "netns", "exec", server_side)) as server:
        client = await asyncio.create_subprocess_exec(
            *("ip", "netns", "exec", client_side, sys.executable, "-c", CLIENT),
            *(str(server.port), str(LARGE)),
            stdout=asyncio.subprocess.PIPE,
        )
        assert client.stdout is not None
        assert await client.stdout.readline() == b"begun\n"  # else the request may come after the end
        server.terminate()
        await server.end()
        link = ("ip", "-n", server_side, "link", "set", "veth0", "down")  # as a cluster does with a pod
        assert await (await asyncio.create_subprocess_exec(*link)).wait() == 0
        received = int(await asyncio.wait_for(client.stdout.readline(), 30))
        await client.wait()

    assert received > LARGE


CALLER = """
import asyncio, os, sys
from ingot_wire import client_connection
from ingot_wire.client import Origin
from ingot_wire.zero_copy import Pipe
client_connection.SILENT_SECONDS = 1
async def main():
    origin = Origin(f"http://10.111.0.1:{sys.argv[1]}")
    in_chunks = sys.argv[2] == "spliced"
    path = b"/chunks/9000000" if in_chunks else b"/bytes/9000000"
    async with await origin.request("GET", path, (), b"", in_chunks=in_chunks) as answer:
        print("hears", flush=True)
        try:
            await (spliced(answer.chunks) if in_chunks else answer.read())
        except OSError as error:
            print("broke off", flush=True)
async def spliced(chunks):
    with Pipe() as pipe:
        while not chunks.is_whole:
            if isinstance(count := await chunks.part(pipe), int):
                os.read(pipe.reader, count)
asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["read", "spliced"])
async def test_a_caller_notices_that_the_machine_of_a_service_has_gone_without_a_word(slow_link, way):
    server_side, client_side = slow_link
    async with draining_process(host="10.111.0.1", prefix=("ip", "netns", "exec", server_side)) as server:
        caller = await asyncio.create_subprocess_exec(
            *("ip", "netns", "exec", client_side, sys.executable, "-c", CALLER, str(server.port), way),
            stdout=asyncio.subprocess.PIPE,
        )
        assert caller.stdout is not None
        assert await caller.stdout.readline() == b"hears\n"
        link = ("ip", "-n", server_side, "link", "set", "veth0", "down")
        assert await (await asyncio.create_subprocess_exec(*link)).wait() == 0
        assert await asyncio.wait_for(caller.stdout.readline(), 60) == b"broke off\n"
        await caller.wait()
