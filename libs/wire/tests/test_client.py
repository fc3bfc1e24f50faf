"""The connections between services: what goes over one, and when another is made."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from ingot_wire import client, client_connection
from ingot_wire.client import NotConnected, Origin
from ingot_wire.zero_copy import Pipe

from .server import free_port

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass
class Server:
    """Does ``serve`` on every connection."""

    url: str = ""
    connections: int = 0
    heads: list[bytes] = field(default_factory=list)

    async def head(self, reader: asyncio.StreamReader) -> bytes:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        return self.heads[-1]


@asynccontextmanager
async def serving(
    serve: Callable[[Server, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], *, port: int = 0
):
    server = Server()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            await serve(server, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    listener = await asyncio.start_server(on_connection, "127.0.0.1", port)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()


def answering(*spoken: bytes, close: bool = False):
    """A server that says the same to every request."""

    async def serve(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await server.head(reader):
            for part in spoken:
                writer.write(part)
                await writer.drain()
            if close:
                writer.close()
                return

    return serve


async def exchange(
    origin: Origin, method: str = "GET", body: client_connection.Body = b"", headers=()
) -> tuple[int, bytes]:
    async with await origin.request(method, b"/a", headers, body) as answer:
        return answer.status, await answer.read()


async def test_a_request_says_what_it_was_given_and_to_whom():
    async with serving(answering(OK)) as server:
        origin = Origin(f"{server.url}/below")
        assert await exchange(origin, "POST", b"{}", [(b"x-name", b"ann")]) == (200, b"ok")
        await origin.close()

    host = server.url.removeprefix("http://").encode()
    assert server.heads == [
        b"POST /below/a HTTP/1.1\r\nhost: " + host + b"\r\nx-name: ann\r\ncontent-length: 2\r\n\r\n"
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"x", b"a\r\nb: c"),
        (b"x", b"a\nb"),
        (b"x\r", b"a"),
        (b"x: y\r\nz", b"a"),
        (b"", b"a"),
        (b"Content-Length", b"9"),
        (b"transfer-encoding", b"chunked"),
        (b"connection", b"upgrade"),
        (b"upgrade", b"h2c"),
        (b"host", b"b"),
    ],
)
async def test_no_header_changes_where_the_request_ends(name, value):
    async with serving(answering(OK)) as server:
        origin = Origin(server.url)
        with pytest.raises(ValueError, match=r"header|written by the client"):
            await exchange(origin, headers=[(name, value)])
        await origin.close()
    assert server.heads == []


@pytest.mark.parametrize(
    ("method", "target"),
    [("GET /", b"/"), ("", b"/"), ("GET", b"/ HTTP/1.1\r\nx: "), ("GET", b"/a b"), ("GET", b"")],
)
async def test_no_request_line_has_another_word(method, target):
    origin = Origin(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ValueError, match="request line"):
        await origin.request(method, target, (), b"")


async def test_one_connection_serves_request_after_request():
    async with serving(answering(OK)) as server:
        origin = Origin(server.url)
        for _ in range(3):
            assert await exchange(origin) == (200, b"ok")
        await origin.close()

    assert server.connections == 1


async def test_a_connection_is_not_used_for_ever(monkeypatch):
    monkeypatch.setattr(client_connection, "LIFETIME_SECONDS", 0.0)
    async with serving(answering(OK)) as server:
        origin = Origin(server.url)
        for _ in range(3):
            assert await exchange(origin) == (200, b"ok")

    assert server.connections == 3


async def test_a_response_may_end_the_connection():
    spoken = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody"
    async with serving(answering(spoken, close=True)) as server:
        origin = Origin(server.url)
        for _ in range(2):
            assert await exchange(origin, "POST", b"x") == (200, b"body")

    assert server.connections == 2


@pytest.mark.parametrize(
    ("method", "spoken", "expected"),
    [
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 700\r\n\r\n", (200, b"")),
        ("GET", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 700\r\n\r\n", (304, b"")),
        ("GET", b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n" + OK, (200, b"ok")),
        (
            "GET",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            (200, b"abc"),
        ),
    ],
    ids=["no content", "head", "not modified", "interim", "chunked"],
)
async def test_the_body_is_where_the_head_says(method, spoken, expected):
    async with serving(answering(spoken)) as server:
        origin = Origin(server.url)
        for _ in range(2):
            assert await exchange(origin, method) == expected
        await origin.close()

    assert server.connections == 1


@pytest.mark.parametrize(
    "spoken",
    [
        b"",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        b"HTTP/1.1 101 \r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nbody",
        b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-trailer: a\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * client_connection.MAX_HEAD_BYTES,
        b"HTTP/1.1 100 Continue\r\n\r\n" * (client_connection.MAX_HEAD_BYTES // 20),
        b"HTTP/1.1 104 X\r\ncontent-length: 2\r\n\r\nab" + OK,
        b"HTTP/1.1 104 X\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: a\r\n\r\n" + OK,
    ],
    ids=[
        "silence",
        "no http",
        "cut",
        "upgrade",
        "no end",
        "chunks of 1.0",
        "2.0",
        "two lengths",
        "length and chunks",
        "gzip",
        "trailer",
        "endless head",
        "endless interim responses",
        "interim body",
        "interim chunks",
    ],
)
async def test_what_is_no_whole_answer_is_an_error(spoken):
    async with serving(answering(spoken, close=True)) as server:
        with pytest.raises(ConnectionError):
            await exchange(Origin(server.url))


async def test_nobody_there_is_told_from_an_answer_that_broke_off():
    with pytest.raises(NotConnected):
        await exchange(Origin(f"http://127.0.0.1:{free_port()}"))


@pytest.mark.parametrize(("method", "heads"), [("GET", client.TRIES), ("HEAD", client.TRIES), ("POST", 1)])
async def test_a_read_that_ends_the_server_is_sent_a_few_times_and_a_write_once(method, heads):
    async def hang_up(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.close()

    async with serving(hang_up) as server:
        with pytest.raises(ConnectionError):
            await exchange(Origin(server.url, patience=10), method)

    assert len(server.heads) == heads


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_server_that_comes_back_in_time_gets_what_waits_for_it(method):
    port = free_port()
    origin = Origin(f"http://127.0.0.1:{port}", patience=30)
    waiting = [asyncio.create_task(exchange(origin, method)) for _ in range(3)]
    await asyncio.to_thread(socket.socket().connect_ex, ("127.0.0.1", port))
    async with serving(answering(OK), port=port):
        assert await asyncio.gather(*waiting) == [(200, b"ok")] * 3
        await origin.close()


async def test_more_than_the_bound_do_not_wait():
    origin = Origin(f"http://127.0.0.1:{free_port()}", patience=60, max_waiting=1)
    waiting = [asyncio.create_task(exchange(origin)) for _ in range(3)]
    done, pending = await asyncio.wait(waiting, timeout=30, return_when=asyncio.FIRST_EXCEPTION)
    while len(pending) > 1:
        done, pending = await asyncio.wait(waiting, timeout=30, return_when=asyncio.FIRST_COMPLETED)
    assert len(done) == 2
    assert all(isinstance(task.exception(), NotConnected) for task in done)
    for task in pending:
        task.cancel()


@pytest.mark.parametrize(("method", "tried_again"), [("GET", True), ("DELETE", True), ("POST", False)])
async def test_only_what_may_happen_twice_is_sent_again_when_a_kept_connection_dies(method, tried_again):
    async def once(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(OK)
        await server.head(reader)
        writer.close()

    async with serving(once) as server:
        origin = Origin(server.url)
        await exchange(origin)
        if tried_again:
            assert await exchange(origin, method) == (200, b"ok")
        else:
            with pytest.raises(ConnectionError):
                await exchange(origin, method)

    assert len(server.heads) == (3 if tried_again else 2)


async def parts(*chunks: bytes) -> AsyncIterator[bytes]:
    for part in chunks:
        yield part


LARGE = b"a" * 65_537
HEAD_OF_CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
TWICE = b"6\r\na\r\n\r\nb\r\n6\r\na\r\n\r\nb\r\n0\r\n\r\n"
CHUNKS = b"5\r\nfirst\r\n7\r\n second\r\n0\r\n\r\n"


async def answer_one(listener: socket.socket) -> socket.socket:
    """The next connection, after the answer to its first request; the loop reads it no further."""
    loop = asyncio.get_running_loop()
    accepted, _ = await loop.sock_accept(listener)
    await loop.sock_recv(accepted, 1000)
    await loop.sock_sendall(accepted, OK)
    return accepted


async def test_a_write_does_not_go_over_a_connection_that_the_server_has_just_ended():
    """The loop has not heard of it yet: it had other things to do, as in a service under load."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        origin = Origin(f"http://127.0.0.1:{listener.getsockname()[1]}")
        first = asyncio.create_task(answer_one(listener))
        assert await exchange(origin) == (200, b"ok")
        second = asyncio.create_task(answer_one(listener))
        (await first).close()
        assert await exchange(origin, "POST", b"x") == (200, b"ok")
        (await second).close()
    await origin.close()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ((b"hel", b"lo"), b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
        ((b"hel", LARGE), b"3\r\nhel\r\n10001\r\n" + LARGE + b"\r\n0\r\n\r\n"),
        ((b"", b"hel", b"", b"lo", b""), b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
        ((), b"0\r\n\r\n"),
    ],
    ids=["small", "large", "parts without bytes", "no parts"],
)
async def test_a_body_in_parts_is_sent_in_chunks(sent, expected):
    arrived = b""

    async def serve(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal arrived
        head = await server.head(reader)
        assert b"transfer-encoding: chunked" in head
        arrived = await reader.readexactly(len(expected))
        writer.write(OK)

    async with serving(serve) as server:
        assert await exchange(Origin(server.url), "POST", parts(*sent)) == (200, b"ok")

    assert arrived == expected


@pytest.mark.parametrize(
    ("method", "length"), [("POST", True), ("PUT", True), ("GET", False), ("DELETE", False)]
)
async def test_a_request_without_a_body_says_so_where_one_is_expected(method, length):
    async with serving(answering(OK)) as server:
        await exchange(Origin(server.url), method)
    assert (b"content-length: 0" in server.heads[0]) == length


OTHER = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 5\r\n\r\nother"


@pytest.mark.parametrize(
    ("method", "spoken", "expected"),
    [
        ("GET", (OK + OTHER,), (200, b"ok")),
        ("GET", (OK, OTHER), (200, b"ok")),
        ("GET", (OK + b"surplus",), (200, b"ok")),
        ("HEAD", (OK,), (200, b"")),
        ("HEAD", (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", OTHER), (200, b"")),
        *(
            ("HEAD", (HEAD_OF_CHUNKS + surplus,), (200, b""))
            for surplus in (b"5", b"0\r\n", b"0\r\n\r\n", b"5;x=")
        ),
        ("GET", (b"HTTP/1.1 204 No Content\r\n\r\n" + OTHER,), (204, b"")),
        ("GET", (HEAD_OF_CHUNKS + CHUNKS + OTHER,), (200, b"first second")),
    ],
    ids=[
        *("two", "two reads", "surplus", "body of HEAD", "behind HEAD"),
        *("size behind HEAD", "line behind HEAD", "end behind HEAD", "extension behind HEAD"),
        *("behind 204", "behind chunks"),
    ],
)
async def test_what_follows_a_response_is_shown_to_nobody_and_ends_the_connection(method, spoken, expected):
    async with serving(answering(*spoken)) as server:
        origin = Origin(server.url)
        for _ in range(2):
            assert await exchange(origin, method) == expected
        await origin.close()

    assert server.connections == 2


async def test_a_second_response_does_not_change_the_first():
    async with (
        serving(answering(OK + OTHER)) as server,
        await Origin(server.url).request("GET", b"/a", (), b"") as response,
    ):
        assert await response.read() == b"ok"
        assert (response.status, response.headers) == (200, [(b"content-length", b"2")])


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_response_to_no_request_is_not_that_of_the_next_request(method):
    """It is in the socket when the connection is used again, and the loop has not read it yet."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        origin = Origin(f"http://127.0.0.1:{listener.getsockname()[1]}")
        first = asyncio.create_task(answer_one(listener))
        assert await exchange(origin) == (200, b"ok")
        (await first).send(OTHER)
        second = asyncio.create_task(answer_one(listener))
        assert await exchange(origin, method) == (200, b"ok")
        (await second).close()
        first.result().close()
    await origin.close()


async def test_a_connection_on_which_a_body_is_still_sent_is_not_used_again():
    """The server answers before it has read all of it."""
    size = 32 * 2**20
    async with serving(answering(OK)) as server:
        origin = Origin(server.url)
        assert await exchange(origin, "POST", b"x" * size) == (200, b"ok")
        assert await exchange(origin) == (200, b"ok")
        await origin.close()

    assert server.connections == 2


async def test_an_answer_need_not_wait_for_the_body():
    gone = asyncio.Event()

    async def never_ending() -> AsyncIterator[bytes]:
        yield b"a"
        await gone.wait()

    async with serving(answering(OK)) as server:
        origin = Origin(server.url)
        assert await exchange(origin, "POST", never_ending()) == (200, b"ok")
        assert await exchange(origin) == (200, b"ok")
        await origin.close()

    assert server.connections == 2


@pytest.mark.parametrize("error", [LookupError("lost"), ConnectionError("the client left")], ids=repr)
async def test_a_connection_on_which_half_a_body_was_sent_is_not_used_again(error):
    """The server would take the next request for the rest of the body."""
    answered = asyncio.Event()

    async def breaks_off() -> AsyncIterator[bytes]:
        yield b"a"
        await answered.wait()
        raise error

    async with serving(answering(OK)) as server:
        origin = Origin(server.url)
        async with await origin.request("POST", b"/a", (), breaks_off()) as answer:
            answered.set()
            while any(task.get_name() == "send a body" for task in asyncio.all_tasks()):
                await asyncio.sleep(0)
            assert await answer.read() == b"ok"
        assert await exchange(origin) == (200, b"ok")
        await origin.close()

    assert server.connections == 2


async def test_a_body_that_is_cancelled_is_an_error():
    async def cancelled() -> AsyncIterator[bytes]:
        yield b"a"
        raise asyncio.CancelledError

    async with serving(lambda server, reader, _: server.head(reader)) as server:
        with pytest.raises(ConnectionError, match="cancelled"):
            await exchange(Origin(server.url), "POST", cancelled())


async def test_a_released_response_reads_nothing_more():
    """Its connection may have the response to the next request."""
    async with serving(answering(OK)) as server:
        origin = Origin(server.url)
        async with await origin.request("GET", b"/a", (), b"") as response:
            await response.read()
        await response.__aexit__(None, None, None)
        with pytest.raises(RuntimeError, match="released"):
            await response.read_part()
        first, second = (
            await origin.request("GET", b"/a", (), b""),
            await origin.request("GET", b"/a", (), b""),
        )
        async with first, second:
            assert (await first.read(), await second.read()) == (b"ok", b"ok")
        await origin.close()
    assert server.connections == 2


@pytest.mark.parametrize("error", [LookupError("lost"), ConnectionError("the client left")], ids=repr)
async def test_what_the_body_raises_reaches_the_one_who_waits_for_the_answer(error):
    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise error

    async def listen(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with serving(listen) as server:
        with pytest.raises(type(error), match=str(error)):
            await exchange(Origin(server.url), "POST", broken())


async def test_an_answer_that_is_read_slowly_does_not_pile_up():
    size = 32 * 2**20

    async def pour(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        for _ in range(size // 2**16):
            writer.write(b"x" * 2**16)
            await writer.drain()

    async with serving(pour) as server, await Origin(server.url).request("GET", b"/", (), b"") as answer:
        read, largest, more = 0, 0, True
        while more:
            for _ in range(100):
                await asyncio.sleep(0)  # time enough for many more reads, if they were made
            part, more = await answer.read_part()
            read, largest = read + len(part), max(largest, len(part))

    assert read == size
    assert largest < 4 * client_connection.MAX_UNREAD_BYTES


async def test_a_body_that_nobody_takes_is_not_read():
    taken = 0
    go_on = asyncio.Event()

    async def much() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(1024):
            taken += 1
            yield b"x" * 2**16

    async def wait(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(OK)
        await writer.drain()
        await go_on.wait()
        writer.close()

    async with serving(wait) as server:
        origin = Origin(server.url)
        assert await exchange(origin, "POST", much()) == (200, b"ok")
        assert taken < 1024
        go_on.set()


async def ask_for_chunks(origin):
    """The body, and whether it came past the transport."""
    async with await origin.request("POST", b"/a", (), b"", in_chunks=True) as answer:
        if answer.chunks is None:
            return await answer.read(), False
        parts = []
        with Pipe() as pipe:
            while not answer.chunks.is_whole:
                part = await answer.chunks.part(pipe)
                parts.append(os.read(pipe.reader, part) if isinstance(part, int) else part)
        return b"".join(parts), True


@pytest.mark.parametrize(
    ("spoken", "body", "is_past"),
    [
        ((HEAD_OF_CHUNKS + CHUNKS,), b"first second", True),
        ((HEAD_OF_CHUNKS, CHUNKS), b"first second", True),
        ((OK,), b"ok", False),
    ],
)
async def test_chunks_are_read_past_the_transport_and_the_connection_goes_on(spoken, body, is_past):
    async with serving(answering(*spoken)) as server:
        origin = Origin(server.url)
        for _ in range(2):
            assert await ask_for_chunks(origin) == (body, is_past)
            assert await exchange(origin) == (200, body)
        await origin.close()

    assert server.connections == 1


@pytest.mark.parametrize("cut", range(1, len(HEAD_OF_CHUNKS + TWICE)))
async def test_chunks_are_the_same_wherever_head_and_body_are_cut(cut):
    """The body has what looks like the end of a head."""

    async def serve(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write((HEAD_OF_CHUNKS + TWICE)[:cut])
        for _ in range(5):
            await asyncio.sleep(0)
        writer.write((HEAD_OF_CHUNKS + TWICE)[cut:])

    async with serving(serve) as server:
        origin = Origin(server.url)
        assert (await ask_for_chunks(origin))[0] == b"a\r\n\r\nba\r\n\r\nb"
        await origin.close()


async def test_a_body_in_chunks_that_breaks_off_is_an_error_and_ends_the_connection():
    async with serving(answering(HEAD_OF_CHUNKS, CHUNKS[:8], close=True)) as server:
        origin = Origin(server.url)
        for _ in range(2):
            with pytest.raises(ConnectionError, match="ended"):
                await ask_for_chunks(origin)
        await origin.close()

    assert server.connections == 2


async def test_what_follows_a_body_in_chunks_is_shown_to_nobody_and_ends_the_connection():
    async with serving(answering(HEAD_OF_CHUNKS + CHUNKS + OTHER)) as server:
        origin = Origin(server.url)
        for _ in range(2):
            assert await ask_for_chunks(origin) == (b"first second", True)
        await origin.close()

    assert server.connections == 2


@pytest.mark.parametrize("before", [b"HTTP/1.1 100 Continue\r\n\r\n", b"\r\n"], ids=["interim", "empty line"])
async def test_chunks_begin_behind_the_last_head(before):
    """Also on a connection that has read chunks before."""
    async with serving(answering(before + HEAD_OF_CHUNKS + CHUNKS)) as server:
        origin = Origin(server.url)
        for _ in range(3):
            assert (await ask_for_chunks(origin))[0] == b"first second"
        await origin.close()

    assert server.connections == 1


async def test_who_leaves_a_body_in_chunks_ends_the_connection():
    async with serving(answering(HEAD_OF_CHUNKS, CHUNKS[:8])) as server:
        origin = Origin(server.url)
        async with await origin.request("POST", b"/a", (), b"", in_chunks=True) as answer:
            assert answer.chunks is not None
        assert not origin._idle
        await origin.close()
