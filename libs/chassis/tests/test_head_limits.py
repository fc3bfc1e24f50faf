"""What a client may send before anybody knows who it is, on real sockets against ``serve_app``."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ingot_chassis.http.server import bound_socket, serve_app

LIMIT = 2_000
LARGE = 3_000_000
GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
CHUNKED = b"POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


async def tiny(scope: Any, receive: Any, send: Any) -> None:
    """Answers with its path and, after it has read it, the size of the body."""
    if scope["type"] == "lifespan":
        for phase in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{phase}.complete"})
        return
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    said = b"[%s %d]" % (scope["raw_path"], size)
    length = (b"content-length", b"%d" % len(said))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": said})


@asynccontextmanager
async def served(**bounds: Any) -> AsyncIterator[int]:
    """The port of the tiny app while ``serve_app`` serves it."""
    listening = asyncio.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with contextlib.closing(bound_socket("127.0.0.1", 0)) as listener:
            serving = asyncio.create_task(
                serve_app(
                    tiny,
                    listener,
                    public_url="http://ingot.test/",
                    drain_seconds=1,
                    on_listening=listening.set,
                    **bounds,
                )
            )
            await listening.wait()
            yield listener.getsockname()[1]
            signal.raise_signal(signal.SIGTERM)
            await serving
    finally:
        signal.signal(signal.SIGTERM, before)


async def exchanged(port: int, *sent: bytes, then: bytes = b"") -> bytes:
    """All that comes back for ``sent``, piece by piece, and then for ``then`` without end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = asyncio.create_task(reader.read())
    with contextlib.suppress(ConnectionError):
        for piece in sent:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        while then and not answer.done():
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(0)
    try:
        return await asyncio.wait_for(answer, 20)
    finally:
        writer.close()


def refusal(answer: bytes) -> int:
    """The status of the one answer, which is the error object."""
    head, body = answer.split(b"\r\n\r\n", 1)
    headers = head.lower().split(b"\r\n")[1:]
    assert b"content-type: application/json" in headers
    assert b"connection: close" in headers
    assert b"content-length: %d" % len(body) in headers
    error = json.loads(body)
    assert error["message"]
    assert error["url"] == "http://ingot.test/api/v1/swagger"
    return int(head.split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("start", "then"),
    [
        (b"GET / HTTP/1.1\r\nX: ", b"a" * 500),
        (b"GET / HTTP/1.1\r\n", b"a" * 500),
        (b"GET / HTTP/1.1\r\n", b"X: a\r\n" * 80),
        (b"GET /", b"a" * 500),
        (b"GET /?", b"a=b&" * 100),
        (b"", b"\r\n" * 200),
        (GET % b"first" + b"GET / HTTP/1.1\r\nX: ", b"a" * 500),
    ],
    ids=["header", "name", "headers", "url", "query", "blank lines", "the second of two"],
)
async def test_a_head_without_end_is_refused(start, then):
    async with served(max_header_bytes=LIMIT) as port:
        answer = await exchanged(port, start, then=then)
    if start.startswith(GET % b"first"):
        assert b"[/first 0]" in answer
        answer = answer.split(b"[/first 0]", 1)[1]

    assert refusal(answer) == 431


async def test_trailers_without_end_are_refused():
    async with served(max_header_bytes=LIMIT) as port:
        answer = await exchanged(port, CHUNKED, b"0\r\nX: ", then=b"a" * 500)

    assert refusal(answer) == 431


@pytest.mark.parametrize("pieces", [1, 2, 50])
@pytest.mark.parametrize(("over", "status"), [(0, b"200"), (1, b"431")])
async def test_the_limit_does_not_depend_on_how_a_head_is_cut(pieces, over, status):
    head = LAST.removesuffix(b"\r\n") + b"X: \r\n\r\n"
    head = head.replace(b"X: ", b"X: " + b"a" * (LIMIT - len(head) + over))
    step = -(-len(head) // pieces)
    async with served(max_header_bytes=LIMIT) as port:
        answer = await exchanged(port, *(head[at : at + step] for at in range(0, len(head), step)))

    assert answer.split(b" ", 2)[1] == status


@pytest.mark.parametrize("sent", [b"G", b"GET / HTTP/1.1\r\nHost:", GET % b"first" + b"GET /"])
async def test_a_head_that_does_not_end_in_time_is_refused(sent):
    async with served(header_seconds=0.05) as port:
        answer = await exchanged(port, sent)

    assert refusal(answer.split(b"[/first 0]", 1)[-1]) == 408


async def test_blank_lines_before_a_request_that_never_comes_end_the_connection():
    async with served(header_seconds=0.05) as port:
        assert await exchanged(port, b"\r\n\r\n") == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET http:// HTTP/1.1\r\n\r\n",
        CHUNKED + b"no size\r\n",
        GET % b"first" + b"\x00",
    ],
)
async def test_what_is_not_http_is_refused_with_the_error_object(sent):
    async with served() as port:
        answer = await exchanged(port, sent)

    assert refusal(answer.split(b"[/first 0]", 1)[-1]) == 400


async def test_pipelined_requests_are_answered_in_order():
    paths = [b"%d" % number for number in range(50)]
    async with served(max_header_bytes=LIMIT) as port:
        answer = await exchanged(port, b"".join(GET % path for path in paths) + LAST)

    positions = [answer.index(b"[/%s 0]" % path) for path in [*paths, b"last"]]
    assert positions == sorted(positions)


async def test_a_connection_is_kept_for_more_than_its_limit_in_all():
    async with served(max_header_bytes=LIMIT) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(100):
            writer.write(GET % b"%d" % number)
            said = b"[/%d 0]" % number
            assert (await reader.readuntil(b"]")).endswith(said)
        writer.close()


async def test_a_kept_connection_is_not_late_while_it_is_idle():
    async with served(header_seconds=0.01) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for half in (GET[:10], GET[10:]):
            writer.write(half.replace(b"%s", b"x"))
            await writer.drain()
        await reader.readuntil(b"]")
        await asyncio.sleep(0.05)
        writer.write(LAST)
        assert (await reader.read()).endswith(b"[/last 0]")
        writer.close()


async def test_a_body_of_known_length_is_not_counted():
    head = b"POST /size HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % LARGE
    async with served(max_header_bytes=LIMIT) as port:
        answer = await exchanged(port, head + b"a" * LARGE)

    assert answer.endswith(b"[/size %d]" % LARGE)


async def test_a_body_in_chunks_is_not_counted():
    chunks = b"1\r\na\r\n" * 10_000 + b"%x\r\n" % LARGE + b"a" * LARGE + b"\r\n0\r\n\r\n"
    async with served(max_header_bytes=LIMIT) as port:
        answer = await exchanged(port, CHUNKED + chunks)

    assert answer.endswith(b"[/size %d]" % (LARGE + 10_000))


async def test_a_request_to_upgrade_is_answered_as_any_other():
    asking = LAST.replace(b"Connection: close", b"Connection: close, Upgrade\r\nUpgrade: h2c")
    async with served() as port:
        assert (await exchanged(port, asking)).endswith(b"[/last 0]")


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    ],
    ids=["no host", "two hosts", "two different hosts", "gzip", "chunked twice", "identity", "and a length"],
)
async def test_a_head_that_two_programs_could_read_differently_is_refused(head):
    async with served() as port:
        assert refusal(await exchanged(port, head)) == 400


async def test_http_1_0_needs_no_host():
    async with served() as port:
        assert b"[/old 0]" in await exchanged(port, b"GET /old HTTP/1.0\r\n\r\n")
