"""Packs of any size through the gateway, both ways: they flow, and nothing of them stays."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from gateway_world import StandIn, serving

PROGRAM = Path(__file__).with_name("lone_gateway.py")
PART = b"x" * 2**16
MEGABYTES = 256
MOST_GROWTH = 32 * 2**20


class LoneGateway:
    """A connection to a gateway in a process of its own."""

    def __init__(self, pid: int, port: int) -> None:
        self._status, self._port = Path(f"/proc/{pid}/status"), port

    def peak_memory(self) -> int:
        line = next(line for line in self._status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    async def push(self, megabytes: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
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

    async def fetch(self, megabytes: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(
            f"GET /ann/app.git/info/refs?do=flood&mb={megabytes} HTTP/1.0\r\nHost: x\r\n\r\n".encode()
        )
        await reader.readuntil(b"\r\n\r\n")
        size = 0
        while part := await reader.read(2**20):
            size += len(part)
        writer.close()
        return size


@asynccontextmanager
async def lone_gateway(transport: str) -> AsyncIterator[LoneGateway]:
    async with serving(StandIn("repos")) as repos_url:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(PROGRAM), transport, repos_url, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            port = int(await process.stdout.readline())
            yield LoneGateway(process.pid, port)
        finally:
            process.terminate()
            await process.wait()


@pytest.mark.parametrize(("transport", "megabytes"), [("http", 1024), ("asgi", MEGABYTES)])
async def test_a_large_push_does_not_stay_in_memory(transport, megabytes):
    async with lone_gateway(transport) as gateway:
        await gateway.push(8)
        before = gateway.peak_memory()
        answer = await gateway.push(megabytes)

        assert f'"size": {megabytes * 2**20}'.encode() in answer
        assert gateway.peak_memory() - before < MOST_GROWTH


async def test_a_large_clone_does_not_stay_in_memory(transport):
    async with lone_gateway(transport) as gateway:
        await gateway.fetch(8)
        before = gateway.peak_memory()

        assert await gateway.fetch(MEGABYTES) == MEGABYTES * 2**20
        assert gateway.peak_memory() - before < MOST_GROWTH


async def test_a_client_that_reads_nothing_holds_the_service_up(transport):
    async with lone_gateway(transport) as gateway:
        await gateway.fetch(1)
        before = gateway.peak_memory()
        _, writer = await asyncio.open_connection("127.0.0.1", gateway._port)
        writer.transport.pause_reading()
        writer.write(b"GET /ann/app.git/info/refs?do=flood&mb=64 HTTP/1.0\r\nHost: x\r\n\r\n")
        await gateway.fetch(64)  # enough time for the other answer to pile up, if it did

        assert gateway.peak_memory() - before < MOST_GROWTH
        writer.close()
