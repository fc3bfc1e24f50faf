"""Tests of the server on real sockets: what an anonymous client may send."""

import asyncio
import json
from collections import deque
from typing import Any

import pytest

from ingot_wire import server_protocol
from ingot_wire.server_protocol import MAX_PIPELINED, PipelineFlow

from .server import LOOPBACK, exchanged, serve

LIMIT = 2_000
LARGE = 3_000_000
GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
CHUNKED = b"POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


async def tiny(scope: Any, receive: Any, send: Any) -> None:
    """Answers with its path and, after it has read it, the size of the body."""
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


def refusal(answer: bytes) -> int:
    """The status of the one answer, which is the error object."""
    head, body = answer.split(b"\r\n\r\n", 1)
    headers = head.lower().split(b"\r\n")[1:]
    assert b"content-type: application/json" in headers
    assert b"connection: close" in headers
    assert b"content-length: %d" % len(body) in headers
    assert json.loads(body)["message"]
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
    async with serve(tiny, max_head_bytes=LIMIT) as port:
        answer = await exchanged(port, start, then=then)
    if start.startswith(GET % b"first"):
        assert b"[/first 0]" in answer
        answer = answer.split(b"[/first 0]", 1)[1]

    assert refusal(answer) == 431


async def test_chunk_extensions_without_end_are_refused():
    async with serve(tiny, max_head_bytes=LIMIT) as port:
        answer = await exchanged(port, CHUNKED, b"1;x=", then=b"a" * 500)

    assert refusal(answer) == 431


@pytest.mark.parametrize("trailer", [b"X: a", b"Content-Length: 9", b"Connection: upgrade\r\nUpgrade: h2c"])
async def test_trailers_are_rejected(trailer):
    async with serve(tiny) as port:
        answer = await exchanged(port, CHUNKED, b"1\r\na\r\n0\r\n" + trailer + b"\r\n\r\n")

    assert refusal(answer) == 400


@pytest.mark.parametrize("pieces", [1, 2, 50])
@pytest.mark.parametrize(("over", "status"), [(0, b"200"), (1, b"431")])
async def test_the_limit_does_not_depend_on_how_a_head_is_cut(pieces, over, status):
    head = LAST.removesuffix(b"\r\n") + b"X: \r\n\r\n"
    head = head.replace(b"X: ", b"X: " + b"a" * (LIMIT - len(head) + over))
    step = -(-len(head) // pieces)
    async with serve(tiny, max_head_bytes=LIMIT) as port:
        answer = await exchanged(port, *(head[at : at + step] for at in range(0, len(head), step)))

    assert answer.split(b" ", 2)[1] == status


@pytest.mark.parametrize("sent", [b"G", b"GET / HTTP/1.1\r\nHost:", GET % b"first" + b"GET /"])
async def test_a_head_that_does_not_end_in_time_is_refused(sent):
    async with serve(tiny, head_seconds=0.05) as port:
        answer = await exchanged(port, sent)

    assert refusal(answer.split(b"[/first 0]", 1)[-1]) == 408


async def test_blank_lines_before_a_request_that_never_comes_end_the_connection():
    async with serve(tiny, head_seconds=0.05) as port:
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
    async with serve(tiny) as port:
        answer = await exchanged(port, sent)

    assert refusal(answer.split(b"[/first 0]", 1)[-1]) == 400


class SilentApp:
    """Never answers its first request, and records that its client left."""

    def __init__(self) -> None:
        self.paths: list[bytes] = []
        self.begun, self.left = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, _send: Any) -> None:
        self.paths.append(scope["raw_path"])
        self.begun.set()
        while (await receive())["type"] != "http.disconnect":
            continue
        self.left.set()


@pytest.mark.parametrize("ending", ["close", "half-close", "reset"])
@pytest.mark.parametrize("behind", [0, 1, 3, 99])
async def test_a_client_that_leaves_is_noticed_behind_pipelined_requests(monkeypatch, behind, ending):
    monkeypatch.setattr(server_protocol, "WATCH_SECONDS", 0.01)
    app = SilentApp()
    async with serve(app) as port:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(GET % b"first" + GET % b"second" * behind)
        await app.begun.wait()
        if behind > 1:
            writer.write(GET % b"unread" * 500)
        if ending == "half-close":
            writer.write_eof()
        elif ending == "close":
            writer.close()
        else:
            writer.transport.abort()
        async with asyncio.timeout(20):
            await app.left.wait()
        writer.close()

    assert app.paths == [b"/first"]


async def test_a_client_that_stays_gets_its_pipelined_answers(monkeypatch):
    monkeypatch.setattr(server_protocol, "WATCH_SECONDS", 0.001)
    released = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await released.wait()
        await tiny(scope, receive, send)

    async with serve(slow) as port:
        answer = asyncio.create_task(exchanged(port, GET % b"first" + GET % b"second" + LAST))
        for _ in range(20):
            await asyncio.sleep(0.001)
        released.set()
        assert [path in await answer for path in (b"[/first", b"[/second", b"[/last")] == [True] * 3


async def test_pipelined_requests_are_answered_in_order():
    paths = [b"%d" % number for number in range(50)]
    async with serve(tiny, max_head_bytes=LIMIT) as port:
        answer = await exchanged(port, b"".join(GET % path for path in paths) + LAST)

    positions = [answer.index(b"[/%s 0]" % path) for path in [*paths, b"last"]]
    assert positions == sorted(positions)


@pytest.mark.parametrize("number", [MAX_PIPELINED + 1, MAX_PIPELINED + 2])
async def test_a_bounded_number_of_requests_waits_on_a_connection(number):
    """One is being answered, and so many wait."""
    go_on = asyncio.Event()

    async def wait(scope: Any, receive: Any, send: Any) -> None:
        await go_on.wait()
        await tiny(scope, receive, send)

    async with serve(wait) as port:
        exchange = asyncio.create_task(exchanged(port, GET % b"a" * (number - 1) + LAST))
        for _ in range(20):
            await asyncio.sleep(0)
        go_on.set()
        answer = await exchange
    assert answer.count(b"[/a 0]") == min(number - 1, MAX_PIPELINED + 1)
    if number > MAX_PIPELINED + 1:
        assert refusal(answer.rpartition(b"[/a 0]")[2]) == 400
    else:
        assert answer.endswith(b"[/last 0]")


def test_nothing_more_is_read_while_requests_wait():
    """A client could fill the memory of the server with them."""
    calls = []

    class Transport:
        def pause_reading(self) -> None:
            calls.append("pause")

        def resume_reading(self) -> None:
            calls.append("resume")

    pipeline: deque[str] = deque(["a request"])
    flow = PipelineFlow(Transport(), pipeline)
    flow.pause_reading()
    flow.resume_reading()
    assert calls == ["pause"]
    pipeline.clear()
    flow.resume_reading()
    assert calls == ["pause", "resume"]


async def test_a_connection_is_kept_for_more_than_its_limit_in_all():
    async with serve(tiny, max_head_bytes=LIMIT) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(100):
            writer.write(GET % b"%d" % number)
            said = b"[/%d 0]" % number
            assert (await reader.readuntil(b"]")).endswith(said)
        writer.close()


async def test_a_kept_connection_is_not_late_while_it_is_idle():
    async with serve(tiny, head_seconds=0.01) as port:
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
    async with serve(tiny, max_head_bytes=LIMIT) as port:
        answer = await exchanged(port, head + b"a" * LARGE)

    assert answer.endswith(b"[/size %d]" % LARGE)


async def test_a_body_in_chunks_is_not_counted():
    chunks = b"1\r\na\r\n" * 10_000 + b"%x\r\n" % LARGE + b"a" * LARGE + b"\r\n0\r\n\r\n"
    async with serve(tiny, max_head_bytes=LIMIT) as port:
        answer = await exchanged(port, CHUNKED + chunks)

    assert answer.endswith(b"[/size %d]" % (LARGE + 10_000))


NEXT = b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n\r\n",
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n%x\r\n"
        ),
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: x\r\nContent-Length: %d\r\n\r\n",
        b"CONNECT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["length", "chunks", "no body", "not named in Connection", "CONNECT", "CONNECT without a body"],
)
async def test_a_switch_of_protocols_is_rejected_and_nothing_behind_it_is_read(head):
    """The parser stops there, so what follows has no end that two programs agree on."""
    async with serve(tiny) as port:
        answer = await exchanged(port, (head % len(NEXT) if b"%" in head else head) + NEXT, NEXT)

    assert refusal(answer) == 400
    assert b"/next" not in answer


@pytest.mark.parametrize("expectation", [b"100-continue", b"100-continue ", b"x, 100-Continue", b"x"])
async def test_a_client_that_need_not_send_its_body_is_sent_nothing_more(expectation):
    """RFC 9110, section 10.1.1: after a response without 100 the next bytes may be body or request."""

    async def refuse(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: %s\r\nContent-Length: %d\r\n\r\n"
    head %= expectation, len(NEXT)
    async with serve(refuse) as port:
        answer = await exchanged(port, head, NEXT)

    assert answer.startswith(b"HTTP/1.1 401")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer


async def test_a_rejected_head_has_no_body():
    async with serve(tiny) as port:
        answer = await exchanged(port, b"HEAD / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("sent", [b"Post / HTTP/1.1\r\n\r\n", b"\x00"])
async def test_a_rejected_request_after_a_head_has_a_body(sent):
    async with serve(tiny) as port:
        answer = await exchanged(port, GET.replace(b"GET", b"HEAD") % b"first" + sent)
    assert refusal(answer.partition(b"\r\n\r\n")[2]) == 400


async def test_a_broken_body_does_not_take_the_responses_to_earlier_requests():
    sent = [GET % b"first", GET % b"second", CHUNKED + b"no size\r\n"]
    async with serve(tiny) as port:
        answer = await exchanged(port, b"".join(sent))
    first, second, rest = answer.partition(b"[/first 0]")[0], *answer.partition(b"[/second 0]")[::2]
    assert first < second
    assert refusal(rest) == 400


async def test_a_client_of_http_1_0_is_sent_no_interim_response():
    head = b"POST /old HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na"
    async with serve(tiny) as port:
        answer = await exchanged(port, head)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"[/old 1]")


async def test_a_body_that_breaks_after_its_response_gets_no_second_one():
    """A proxy would read it as the response to the next request."""

    async def at_once(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async with serve(at_once) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(CHUNKED.replace(b"Connection: close\r\n", b""))
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"no size\r\n")
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b, c/@\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"0" * 5000 + b"3\r\n\r\nabc",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: x\r\n\r\n",
        b"GET /\r\n\r\n",
    ],
    ids=[
        "no host",
        "two hosts",
        "two different hosts",
        "no host name",
        "a tab behind chunked",
        "gzip",
        "chunked twice",
        "identity",
        "and a length",
        "two lengths",
        "a long length",
        "chunks of 1.0",
        "2.0",
        "0.9",
        "no version",
    ],
)
async def test_a_head_that_two_programs_could_read_differently_is_refused(head):
    async with serve(tiny) as port:
        assert refusal(await exchanged(port, head)) == 400


async def test_http_1_0_needs_no_host():
    async with serve(tiny) as port:
        assert b"[/old 0]" in await exchanged(port, b"GET /old HTTP/1.0\r\n\r\n")
