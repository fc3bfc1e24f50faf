"""The limits of an exchange, how it ends, and that bodies of any size are streamed, not buffered."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from ingot_gateway.route_limits import LEAST_BYTES

from .world import LOOPBACK, STREAM, EchoService, open_client, open_world, send_raw, serve_bounded

REPO = "/api/v1/repos/ann/app"
FETCH = "/ann/app.git/git-upload-pack"
PACKAGE = Path(__file__).parent
PART = b"x" * 2**16
MEGABYTES = 256
MAX_GROWTH = 32 * 2**20


async def chunks(count: int, size: int = 2**16) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_beyond_the_limit_is_refused(transport, chunked):
    async with (
        open_client(transport, api_body_limit=200_000) as client,
        client.post(REPO, data=chunks(8) if chunked else b"x" * 200_001) as answer,
    ):
        assert answer.status == 413
        assert (await answer.json())["message"]
        assert answer.headers["X-Request-Id"]


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_within_the_limit_arrives_whole(transport, chunked):
    async with (
        open_client(transport, api_body_limit=2**19) as client,
        client.post(REPO, data=chunks(8) if chunked else b"x" * 2**19) as answer,
    ):
        echo = await answer.json()

    assert echo["size"] == 2**19


@pytest.mark.parametrize("path", ["/ann/app.git/git-receive-pack", f"{REPO}/releases/1/assets"])
async def test_pushes_and_uploads_have_no_limit_here(transport, path):
    async with (
        open_client(transport, api_body_limit=1) as client,
        client.post(path, data=chunks(100)) as answer,
    ):
        assert (await answer.json())["size"] == 100 * 2**16


async def test_an_answer_before_the_body_is_read_reaches_the_client(client):
    url = "/ann/app.git/git-receive-pack?do=private"
    async with client.post(url, data=chunks(4)) as answer:
        assert (answer.status, await answer.read()) == (401, b"sign in")
        assert answer.headers["WWW-Authenticate"] == 'Basic realm="Ingot"'


async def test_after_an_early_answer_the_next_request_is_served(client):
    url = "/ann/app.git/git-receive-pack"
    for _ in range(3):
        async with client.post(url + "?do=private", data=chunks(40)) as answer:
            assert answer.status == 401
        async with client.post(url, data=b"pack") as answer:
            assert (await answer.json())["size"] == 4


async def test_a_service_that_stays_silent_times_out(transport):
    async with open_client(transport, api_seconds=0.2) as client, client.get(REPO + "?do=hang") as answer:
        assert answer.status == 504
        assert (await answer.json())["message"]


async def test_a_client_that_stays_silent_times_out(transport):
    async with open_world(transport, api_seconds=0.2) as world:
        request = (
            f"POST {REPO} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf".encode()
        )
        answer = await send_raw(world.url, request)

    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_slow_but_steady_request_does_not_time_out(transport):
    async def slowly():
        for _ in range(6):
            await asyncio.sleep(0.1)
            yield b"x"

    async with (
        open_client(transport, git_seconds=0.4) as client,
        client.post("/ann/app/git-receive-pack", data=slowly()) as answer,
    ):
        assert (await answer.json())["size"] == 6


async def test_a_client_that_sends_a_byte_now_and_then_is_ended(transport):
    async def slowly():
        while True:
            await asyncio.sleep(0.02)
            yield b"x"

    async with (
        open_client(transport, client_seconds=0.3) as client,
        client.post("/ann/app.git/git-receive-pack", data=slowly()) as answer,
    ):
        assert answer.status == 408


async def test_a_client_that_sends_enough_may_take_longer(transport):
    async def steadily():
        for _ in range(6):
            await asyncio.sleep(0.25)
            yield b"x" * LEAST_BYTES

    async with (
        open_client(transport, client_seconds=1) as client,
        client.post("/ann/app.git/git-receive-pack", data=steadily()) as answer,
    ):
        assert (await answer.json())["size"] == 6 * LEAST_BYTES


async def test_a_client_that_takes_nothing_of_an_answer_is_ended(transport):
    async with open_world(transport, client_seconds=0.3) as world:
        host, port = world.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1)
        writer.write(f"POST {FETCH}?do=flood&mb=64 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
        await asyncio.wait_for(world.services["repos"].ended.wait(), 20)
        writer.close()


async def test_git_that_computes_for_long_is_no_fault_of_the_client(transport):
    async with (
        open_client(transport, client_seconds=1) as client,
        client.post(f"{FETCH}?do=ponder", data=b"0000") as answer,
    ):
        assert await answer.read() == b"pack"


@pytest.mark.parametrize("do", ["hang", "drip"])
@pytest.mark.parametrize(("method", "path"), [("GET", REPO), ("POST", REPO), ("POST", FETCH)])
async def test_a_client_that_leaves_ends_the_work(world, do, method, path):
    host, port = world.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{method} {path}?do={do} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
    await world.services["repos"].called.wait()
    writer.close()

    await asyncio.wait_for(world.services["repos"].disconnected.wait(), 10)


async def test_a_client_that_leaves_while_sending_ends_the_work(world):
    host, port = world.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    url = "/ann/app.git/git-receive-pack?do=hang"
    writer.write(f"POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nhalf".encode())
    await world.services["repos"].called.wait()
    writer.close()

    await asyncio.wait_for(world.services["repos"].disconnected.wait(), 10)


async def test_the_client_notices_that_an_answer_is_cut(client):
    with pytest.raises(aiohttp.ClientPayloadError):
        async with client.get(REPO + "?do=cut") as answer:
            await answer.read()


async def test_what_git_fetches_is_the_same_request_after_request(client):
    for _ in range(2):
        async with client.post(f"{FETCH}?do=stream", data=b"0000") as answer:
            assert await answer.read() == STREAM


async def test_what_git_fetches_by_http_1_0_ends_with_the_connection(world):
    request = f"POST {FETCH}?do=stream HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    answer = await send_raw(world.url, request.encode())
    assert answer.partition(b"\r\n\r\n")[2] == STREAM


async def test_git_notices_that_a_fetch_is_cut(client):
    with pytest.raises(aiohttp.ClientPayloadError):
        async with client.post(f"{FETCH}?do=break", data=b"0000") as answer:
            await answer.read()


async def test_a_fetch_that_falls_silent_is_cut(transport):
    async with open_client(transport, git_seconds=0.4) as client:
        with pytest.raises(aiohttp.ClientPayloadError):
            async with client.post(f"{FETCH}?do=drip", data=b"0000") as answer:
                await answer.read()


class LoneGateway:
    """A connection to a gateway in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self._port = process, port
        self._status = Path(f"/proc/{process.pid}/status")

    def peak_memory(self) -> int:
        line = next(line for line in self._status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    async def push(self, megabytes: int) -> bytes:
        reader, writer = await asyncio.open_connection(LOOPBACK, self._port)
        writer.write(
            b"POST /ann/app.git/git-receive-pack HTTP/1.1\r\nHost: x\r\n"
            b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        part = b"10000\r\n" + PART + b"\r\n"
        for _ in range(megabytes * 16):
            writer.write(part)
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer

    async def fetch(self, megabytes: int, *, what: str = "GET /ann/app.git/info/refs") -> int:
        reader, writer = await asyncio.open_connection(LOOPBACK, self._port)
        writer.write(
            f"{what}?do=flood&mb={megabytes} HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode()
        )
        await reader.readuntil(b"\r\n\r\n")
        size = 0
        while part := await reader.read(2**20):
            size += len(part)
        writer.close()
        return size

    async def fetch_slowly_from_a_gateway_that_stops(self, megabytes: int) -> int:
        """The size of what arrives if nothing of it is read before the gateway waits for that alone."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self._port, limit=2**10)
        writer.write(
            f"GET /ann/app.git/info/refs?do=flood&mb={megabytes} HTTP/1.0\r\nHost: x\r\n\r\n".encode()
        )
        await reader.readuntil(b"\r\n\r\n")
        self.process.terminate()
        assert self.process.stdout is not None
        while b"waiting until the clients have the answers" not in (
            line := await self.process.stdout.readline()
        ):
            assert line, "it ended, and bytes were on their way"
        size = 0
        while part := await reader.read(2**20):
            size += len(part)
        writer.close()
        await self.process.wait()
        return size


@asynccontextmanager
async def lone_gateway(transport: str) -> AsyncIterator[LoneGateway]:
    async with serve_bounded(EchoService("repos")) as repos_url:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            f"{PACKAGE.name}.lone_gateway",
            transport,
            repos_url,
            cwd=PACKAGE.parent,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            port = int(await process.stdout.readline())
            yield LoneGateway(process, port)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


@pytest.mark.parametrize(("transport", "megabytes"), [("http", 1024), ("asgi", MEGABYTES)])
async def test_a_large_push_does_not_stay_in_memory(transport, megabytes):
    async with lone_gateway(transport) as gateway:
        await gateway.push(8)
        before = gateway.peak_memory()
        answer = await gateway.push(megabytes)

        assert f'"size":{megabytes * 2**20}'.encode() in answer
        assert gateway.peak_memory() - before < MAX_GROWTH


@pytest.mark.parametrize("what", ["GET /ann/app.git/info/refs", f"POST {FETCH}"])
async def test_a_large_clone_does_not_stay_in_memory(transport, what):
    async with lone_gateway(transport) as gateway:
        await gateway.fetch(8, what=what)
        before = gateway.peak_memory()

        assert await gateway.fetch(MEGABYTES, what=what) == MEGABYTES * 2**20
        assert gateway.peak_memory() - before < MAX_GROWTH


async def test_what_git_fetches_slowly_is_the_same_on_the_loop_of_production(transport):
    async with lone_gateway(transport) as gateway:
        reader, writer = await asyncio.open_connection(LOOPBACK, gateway._port, limit=2**10)
        for _ in range(2):
            writer.write(f"POST {FETCH}?do=stream HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            received = bytearray()
            while size := int(await reader.readuntil(b"\r\n"), 16):
                received += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readexactly(2)
            assert received == STREAM
        writer.close()


async def test_a_client_that_reads_nothing_slows_the_service_down(transport):
    async with lone_gateway(transport) as gateway:
        await gateway.fetch(1)
        before = gateway.peak_memory()
        _, writer = await asyncio.open_connection(LOOPBACK, gateway._port)
        writer.transport.pause_reading()
        writer.write(b"GET /ann/app.git/info/refs?do=flood&mb=64 HTTP/1.0\r\nHost: x\r\n\r\n")
        await gateway.fetch(64)  # takes long enough for the other answer to fill the memory, if it could

        assert gateway.peak_memory() - before < MAX_GROWTH
        writer.close()


async def test_a_gateway_that_stops_waits_until_a_slow_client_has_every_byte(transport):
    async with lone_gateway(transport) as gateway:
        assert await gateway.fetch_slowly_from_a_gateway_that_stops(1) == 2**20
