"""Failures and reuse of the connections between the gateway and a service."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from ingot_gateway.app import create_app
from ingot_testing.lifespan import started
from ingot_testing.processes import free_port

from .world import EchoService, gateway_settings, open_client, open_world, serve_bounded

REPO = "/api/v1/repos/ann/app"


@asynccontextmanager
async def gateway_to(url: str, **settings: Any) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a gateway whose repos is at ``url``."""
    app = create_app(gateway_settings(repos_url=url, **settings))
    async with started(app), serve_bounded(app) as own_url, aiohttp.ClientSession(own_url) as client:
        yield client


@asynccontextmanager
async def listening(on_connection: Callable[[Any, Any], Any]) -> AsyncIterator[str]:
    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_who_asks_for_a_service_that_does_not_listen_shall_try_again(method):
    async with (
        gateway_to(f"http://127.0.0.1:{free_port()}", connect_seconds=0) as client,
        client.request(method, REPO) as answer,
    ):
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert (await answer.json())["message"] == "the service cannot be reached"
        assert answer.headers["X-Request-Id"]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_gateway_waits_for_a_service_that_restarts(method):
    port = free_port()
    async with gateway_to(f"http://127.0.0.1:{port}", connect_seconds=10) as client:
        request = asyncio.create_task(client.request(method, REPO))
        with socket.socket() as probe:
            await asyncio.to_thread(probe.connect_ex, ("127.0.0.1", port))
        async with serve_bounded(EchoService("repos"), port=port), await request as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    "start", [b"", b"HTTP/1.1 2", b"SSH-2.0-what\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-"]
)
async def test_a_service_that_closes_the_connection_is_a_bad_gateway(start):
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(start)
        writer.close()

    async with listening(hang_up) as url, gateway_to(url) as client, client.post(REPO, data=b"{}") as answer:
        assert (answer.status, (await answer.json())["message"]) == (502, "the service broke off")


@pytest.mark.parametrize("fetches", [False, True], ids=["read", "spliced"])
async def test_a_service_that_falls_silent_in_the_middle_of_an_answer_ends_it(fetches):
    """Also of a clone, whose bytes do not come through the process."""
    part = b"x" * 300_000

    async def fall_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % (2 * len(part)) + part)
        await reader.read()
        writer.close()

    path = "/ann/app/git-upload-pack" if fetches else REPO
    received = bytearray()

    async def read(answer: aiohttp.ClientResponse) -> None:
        while received_part := await answer.content.readany():
            received.extend(received_part)

    async with (
        asyncio.timeout(30),
        listening(fall_silent) as url,
        gateway_to(url, git_seconds=0.5, api_seconds=0.5) as client,
        client.post(path) as answer,
    ):
        assert answer.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await read(answer)
    # The last bytes of a clone may be missing: the socket does not wake its reader for a small rest
    # (SO_RCVLOWAT).
    assert part.startswith(received)
    assert fetches or len(received) == len(part)
    assert received


async def test_a_read_on_a_stale_connection_is_repeated():
    methods = []

    async def serve_once_per_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.readuntil(b"\r\n\r\n")  # the pooled connection is used again, and then closed
        writer.close()

    async with listening(serve_once_per_connection) as url, gateway_to(url) as client:
        for _ in range(2):
            async with client.get(REPO) as answer:
                assert await answer.read() == b"ok"

    assert methods == [b"GET", b"GET"]


async def test_a_write_on_a_stale_connection_is_sent_once():
    heads = []

    async def serve_once_per_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with listening(serve_once_per_connection) as url, gateway_to(url) as client:
        async with client.get(REPO) as answer:
            assert answer.status == 200
        async with client.post(REPO) as answer:
            assert answer.status == 502

    assert len(heads) == 2


async def test_a_refusal_before_the_end_of_the_body_reaches_the_client():
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        await writer.drain()
        writer.write_eof()
        await reader.read(2**16)
        writer.close()

    async def body() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b"x" * 2**16

    async with (
        listening(refuse) as url,
        gateway_to(url) as client,
        client.post("/ann/app/git-receive-pack", data=body()) as answer,
    ):
        assert (answer.status, await answer.read()) == (413, b"big")


async def test_connections_are_reused():
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with listening(serve) as url, gateway_to(url) as client:
        for _ in range(5):
            async with client.get(REPO) as answer:
                assert answer.status == 204

    assert connections == 1


async def test_a_header_that_is_not_ascii_arrives():
    async with open_client("http") as client, client.get(REPO, headers={"X-Name": "Zoë"}) as answer:
        echo = dict((await answer.json())["headers"])

    assert echo["x-name"].encode("utf-8")


@pytest.mark.parametrize(
    ("data", "framing"),
    [
        (b"x" * 10, b"content-length: 10"),
        (b"x" * 65_536, b"content-length: 65536"),
        (b"x" * 65_537, b"transfer-encoding: chunked"),
        ("parts", b"transfer-encoding: chunked"),
        (b"", b"content-length: 0"),
    ],
    ids=["short", "the longest short", "long", "in parts", "none"],
)
async def test_the_gateway_frames_a_body_by_what_it_has(data, framing):
    heads = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    async def parts() -> AsyncIterator[bytes]:
        yield b"x"

    body = parts() if data == "parts" else data
    async with listening(record) as url, gateway_to(url) as client, client.post(REPO, data=body) as answer:
        assert answer.status == 200
    lines = heads[0].split(b"\r\n")
    announced = [b"ingot-announced-length: 65537"] if framing.endswith(b"chunked") and data != "parts" else []
    assert [line for line in lines if line.startswith(b"ingot-announced-length")] == announced
    assert [line for line in lines if line.startswith((b"content-length", b"transfer-encoding"))] == [framing]


async def test_no_service_is_asked_before_a_short_body_is_whole():
    async with open_world("http") as world:
        host, port = world.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"POST {REPO} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf".encode())
        async with aiohttp.ClientSession(world.url) as client, client.get(REPO) as answer:
            assert answer.status == 200
        assert world.services["repos"].calls == 1
        writer.write(b" more")
        await writer.drain()
        while world.services["repos"].calls < 2:
            await asyncio.sleep(0)
        writer.close()
