"""Hostile endpoints and hostile URLs: always a reply in words, and never a request to a private address."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiohttp.abc import ResolveResult

from ingot_chassis.security.egress import Egress, Resolve
from ingot_chassis.security.own_servers import OwnServers, Server
from ingot_hooks.endpoints.clients.http import MAX_BODY_BYTES
from ingot_hooks.endpoints.clients.pool import Endpoints
from ingot_hooks.endpoints.clients.replies import Reply
from ingot_testing.receiver import Receiver


async def sent(
    url: str,
    allowed: tuple[str, ...] = (),
    *,
    own: Sequence[Server] = (),
    seconds: float = 10,
    resolve: Resolve | None = None,
) -> Reply:
    endpoints = Endpoints(Egress(allowed, "TARGETS"), OwnServers(own), seconds, resolve=resolve)
    reply = await endpoints.send("POST", url, {}, b"{}")
    await endpoints.close()
    return reply


LOOPBACK = ("127.0.0.0/8",)


@asynccontextmanager
async def answering(answer: bytes, *, hang: bool = False, at_once: bool = False) -> AsyncIterator[str]:
    """An endpoint that writes ``answer``, whatever it is, and closes the connection unless it hangs.

    One that answers ``at_once`` does not wait for the request.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not at_once:
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
async def test_an_invalid_answer_is_a_reply_in_words(answer, status, words):
    async with answering(answer) as url:
        reply = await sent(url, LOOPBACK)
    assert reply.status == status
    assert reply.error.startswith(words)
    assert bool(reply.error) is bool(words)
    assert isinstance("".join((reply.error, *reply.headers.values())).encode(), bytes)


async def test_a_body_that_never_ends_is_cut():
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000) as url:
        reply = await sent(url, LOOPBACK)
    assert (reply.status, len(reply.body)) == (200, MAX_BODY_BYTES)


async def test_an_endpoint_that_does_not_answer_ends_at_the_time_limit():
    async with answering(b"", hang=True) as url:
        reply = await sent(url, LOOPBACK, seconds=0.05)
    assert reply == Reply(error="no answer within 0.05 s")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://127.1/", "http://0x7f000001/", "http://2130706433/",
        "http://017700000001/", "http://0/", "http://localhost/", "http://[::1]/",
        "http://[::ffff:127.0.0.1]/", "http://[::]/", "http://169.254.169.254/latest/", "http://①②⑦.⓪.⓪.①/",
        "http://user:pass@127.0.0.1/", "http://127.0.0.1\\@8.8.8.8/",
        "https://127.0.0.1/", "http://10.0.0.1:8080/", "http://127.0.0.1#@8.8.8.8/",
    ],
)  # fmt: skip
async def test_no_spelling_of_a_private_address_is_connected_to(url):
    reply = await sent(url)
    assert reply.status == 0
    assert "nothing is sent there" in reply.error or "cannot be used" in reply.error


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "gopher://8.8.8.8/", "http://", "//x", "http://" + "a" * 300]
)
async def test_an_unusable_url_is_a_reply_in_words(url):
    reply = await sent(url)
    assert reply.status == 0
    assert reply.error


class FixedAddresses:
    """Resolves every host to the same addresses, and counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses, self.lookups = addresses, 0

    async def __call__(self, host: str, port: int) -> list[ResolveResult]:
        self.lookups += 1
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in self.addresses
        ]


async def test_one_private_address_of_a_host_is_enough_to_refuse():
    reply = await sent("http://ci.example.org/", resolve=FixedAddresses("8.8.8.8", "10.0.0.1"))
    assert "private address" in reply.error


async def test_a_host_is_resolved_once_and_the_checked_address_is_used():
    resolve = FixedAddresses("127.0.0.1")
    async with answering(b"HTTP/1.1 204 No Content\r\n\r\n") as url:
        reply = await sent(url.replace("127.0.0.1", "ci.example.org"), LOOPBACK, resolve=resolve)
    assert (reply.status, resolve.lookups) == (204, 1)


async def test_an_idle_connection_that_was_closed_meanwhile_is_no_failure():
    connections = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await reader.readuntil(b"{}")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    endpoints = Endpoints(Egress(LOOPBACK, "TARGETS"), OwnServers([]), 10)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        replies = [await endpoints.send("POST", url, {}, b"{}") for _ in range(2)]
        await endpoints.close()
    assert [reply.status for reply in replies] == [200, 200]
    assert len(connections) == 2


async def test_the_addresses_of_an_idle_connection_are_checked_again():
    resolve = FixedAddresses("127.0.0.1")
    endpoints = Endpoints(Egress(LOOPBACK, "TARGETS"), OwnServers([]), 10, resolve=resolve)
    async with Receiver() as receiver:
        url = receiver.url.replace("127.0.0.1", "ci.example.org")
        assert (await endpoints.send("POST", url, {}, b"{}")).status == 204
        resolve.addresses = ("10.0.0.1",)
        assert "private address" in (await endpoints.send("POST", url, {}, b"{}")).error
        assert len(receiver.requests) == 1
    await endpoints.close()


ANYWHERE = ("0.0.0.0/0", "::/0", "localhost", "ci.example.org")


@pytest.mark.parametrize("own_host", ["127.0.0.1", "localhost", "0.0.0.0", "::1"])
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "127.8.9.1", "0x7f000001", "2130706433", "017700000001", "0", "0.0.0.0",
        "localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "①②⑦.⓪.⓪.①",
        "user:pass@127.0.0.1",
    ],
)  # fmt: skip
async def test_no_spelling_of_this_machine_reaches_a_server_of_ingot(host, own_host):
    reply = await sent(f"http://{host}:4222/", ANYWHERE, own=[Server(own_host, 4222)])
    assert reply.status == 0
    assert "Ingot's own" in reply.error or "cannot be used" in reply.error or "resolved" in reply.error


async def test_a_name_that_points_to_a_server_of_ingot_does_not_reach_it():
    own = [Server("127.0.0.1", 4222)]
    reply = await sent("http://ci.example.org:4222/", ANYWHERE, own=own, resolve=FixedAddresses("127.0.0.1"))
    assert reply.error == "port 4222 of ci.example.org is one of Ingot's own; nothing is sent there"


async def test_another_port_of_the_same_machine_is_reached():
    async with Receiver() as receiver:
        assert (await sent(receiver.url, LOOPBACK, own=[Server("127.0.0.1", 4222)])).status == 204


async def test_a_redirect_to_a_server_of_ingot_is_not_followed():
    async with (
        Receiver() as own,
        answering(
            f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {own.url}/\r\nContent-Length: 0\r\n\r\n".encode()
        ) as url,
    ):
        assert (await sent(url, LOOPBACK)).status == 307
        assert own.requests == []


BANNERS = [
    b'INFO {"server_id":"NCANARY","version":"2.10","host":"0.0.0.0","port":4222}\r\n',
    b"-ERR unknown command 'CANARY'\r\n",
    b"220 mail.CANARY.internal ESMTP\r\n",
    b"SSH-2.0-CANARY\r\n",
    b"E\x00\x00\x00\x81SFATAL\x00CANARY\x00",
    b"HTTP/1.1 200 OK\r\nbad header CANARY\r\n\r\n",
    b"HTTP/1.1 abc CANARY\r\n\r\n",
    b"HTTP/9.9 200 CANARY\r\n\r\n",
]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("banner", BANNERS)
async def test_the_greeting_of_something_that_is_no_endpoint_is_not_shown(banner, scheme):
    async with answering(banner, at_once=True) as url:
        reply = await sent(url.replace("http:", f"{scheme}:"), LOOPBACK)
    assert reply.status == 0
    assert reply.error.startswith(("the answer cannot be read", "TLS failed", "no connection"))
    assert "CANARY" not in str(reply)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/", "no connection: it was refused"),
        ("http://no-such-host.invalid/", "no connection: the host name cannot be resolved"),
        ("http://127.0.0.1:99999/", "the URL cannot be used"),
    ],
)
async def test_what_failed_is_said_in_fixed_words(url, words):
    assert (await sent(url, ANYWHERE)).error == words
