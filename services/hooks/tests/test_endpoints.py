"""Sending to hostile endpoints and hostile URLs: always a reply in words, never a way to a private address."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp.abc import ResolveResult

from ingot_chassis.egress import Egress, Resolve
from ingot_chassis.testing.receiver import Receiver
from ingot_hooks.clients.endpoints import MOST_BYTES, HttpEndpoints, Reply


async def sent(
    url: str, allowed: tuple[str, ...] = (), *, seconds: float = 10, resolve: Resolve | None = None
) -> Reply:
    endpoints = HttpEndpoints(Egress(allowed, "TARGETS").refusal, seconds, resolve=resolve)
    reply = await endpoints.send("POST", url, {}, b"{}")
    await endpoints.close()
    return reply


LOOPBACK = ("127.0.0.0/8",)


@asynccontextmanager
async def answering(answer: bytes, *, hang: bool = False) -> AsyncIterator[str]:
    """An endpoint that writes ``answer``, whatever it is, and closes the connection unless it hangs."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(answer)
        if hang:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (b"", 0, "no connection"),
        (b"\x00\x01\x02\r\n\r\n", 0, "the answer cannot be read"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", 0, "the answer cannot be read"),
        (b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\nok", 200, ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\ncut", 200, ""),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnot!", 200, ""),
        (b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", 302, ""),
    ],
)
async def test_a_strange_answer_is_a_reply_in_words(answer: bytes, status: int, words: str) -> None:
    async with answering(answer) as url:
        reply = await sent(url, LOOPBACK)
    assert reply.status == status
    assert reply.error.startswith(words)
    assert bool(reply.error) is bool(words)
    assert isinstance("".join((reply.error, *reply.headers.values())).encode(), bytes)


async def test_a_body_that_never_ends_is_cut() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000) as url:
        reply = await sent(url, LOOPBACK)
    assert (reply.status, len(reply.body)) == (200, MOST_BYTES)


async def test_an_endpoint_that_says_nothing_is_given_up_in_time() -> None:
    async with answering(b"", hang=True) as url:
        reply = await sent(url, LOOPBACK, seconds=0.05)
    assert reply == Reply(error="no answer within 0.05 s")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://017700000001/",
        "http://0/", "http://localhost/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::]/",
        "http://169.254.169.254/latest/", "http://①②⑦.⓪.⓪.①/", "http://user:pass@127.0.0.1/", "http://127.0.0.1\\@8.8.8.8/",
        "https://127.0.0.1/", "http://10.0.0.1:8080/", "http://127.0.0.1#@8.8.8.8/",
    ],
)  # fmt: skip
async def test_no_spelling_of_a_private_address_is_connected_to(url: str) -> None:
    reply = await sent(url)
    assert reply.status == 0
    assert "nothing is sent there" in reply.error or "cannot be used" in reply.error


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "gopher://8.8.8.8/", "http://", "//x", "http://" + "a" * 300]
)
async def test_what_is_no_usable_url_is_a_reply_in_words(url: str) -> None:
    reply = await sent(url)
    assert reply.status == 0
    assert reply.error


class Names:
    """Resolves every name to the same addresses, and counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses, self.asked = addresses, 0

    async def __call__(self, host: str, port: int) -> list[ResolveResult]:
        self.asked += 1
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in self.addresses
        ]


async def test_one_private_address_of_a_name_is_enough_to_refuse() -> None:
    reply = await sent("http://ci.example.org/", resolve=Names("8.8.8.8", "10.0.0.1"))
    assert "10.0.0.1" in reply.error


async def test_a_name_is_resolved_once_and_the_judged_address_is_used() -> None:
    names = Names("127.0.0.1")
    async with answering(b"HTTP/1.1 204 No Content\r\n\r\n") as url:
        reply = await sent(url.replace("127.0.0.1", "ci.example.org"), LOOPBACK, resolve=names)
    assert (reply.status, names.asked) == (204, 1)


async def test_a_kept_connection_that_was_closed_meanwhile_is_no_failure() -> None:
    connections = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await reader.readuntil(b"{}")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    endpoints = HttpEndpoints(Egress(LOOPBACK, "TARGETS").refusal, 10)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        replies = [await endpoints.send("POST", url, {}, b"{}") for _ in range(2)]
        await endpoints.close()
    assert [reply.status for reply in replies] == [200, 200]
    assert len(connections) == 2


async def test_the_addresses_of_a_kept_connection_are_judged_again() -> None:
    names = Names("127.0.0.1")
    endpoints = HttpEndpoints(Egress(LOOPBACK, "TARGETS").refusal, 10, resolve=names)
    async with Receiver() as receiver:
        url = receiver.url.replace("127.0.0.1", "ci.example.org")
        assert (await endpoints.send("POST", url, {}, b"{}")).status == 204
        names.addresses = ("10.0.0.1",)
        assert "10.0.0.1" in (await endpoints.send("POST", url, {}, b"{}")).error
        assert len(receiver.requests) == 1
    await endpoints.close()
