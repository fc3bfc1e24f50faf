"""Tests of the way of a response to the socket, and of responses that have no good end."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ingot_wire.response_cycle import SHORT_BODY, ResponseCycle
from ingot_wire.zero_copy import EXTENSION

from .server import error_body

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]}
STREAM = {"type": "http.response.start", "status": 200, "headers": []}
PART = {"type": "http.response.body", "body": b"a part", "more_body": True}
WHOLE = {"type": "http.response.body", "body": b"a part"}


class Transport:
    """Remembers what is written."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.is_closed = False
        self.connection, self.client = socket.socketpair()
        self.connection.setblocking(False)

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        self.connection.sendall(data)

    def writelines(self, parts: Sequence[bytes]) -> None:
        self.writes.extend(parts)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def set_write_buffer_limits(self, high: int | None = None) -> None:
        """It has no buffer."""

    def get_extra_info(self, _name: str) -> "Transport":
        return self

    def fileno(self) -> int:
        return self.connection.fileno()


class Flow:
    """A client that takes everything."""

    write_paused = False

    def resume_reading(self) -> None:
        """It never stopped."""

    async def drain(self) -> None:
        """There is nothing to wait for."""


class Exchange:
    """One request to ``app``, and what its client gets."""

    def __init__(self, app: Any, *, method: str = "GET", version: str = "1.1") -> None:
        self.transport, self.tasks = Transport(), set[asyncio.Task[None]]()
        self.ended = False
        self._app = app
        self._cycle = ResponseCycle(
            {"type": "http", "method": method, "path": "/", "http_version": version},
            self.transport,
            Flow(),
            None,
            None,
            False,
            [(b"date", b"today")],
            asyncio.Event(),
            False,
            version == "1.1",
            self._end,
            tasks=self.tasks,
            error_body=error_body,
        )

    def _end(self) -> None:
        self.ended = True

    def begin(self) -> asyncio.Task[None]:
        return self._cycle.begin(asyncio.get_running_loop(), self._app)

    async def run(self) -> bytes:
        """All that is written."""
        await self.begin()
        return b"".join(self.transport.writes)


def sends(*messages: dict[str, Any]) -> Any:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)

    return app


async def test_a_short_answer_is_one_write():
    exchange = Exchange(sends(START, WHOLE))
    assert await exchange.run() == b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 6\r\n\r\na part"
    assert len(exchange.transport.writes) == 1
    assert exchange.ended
    assert not exchange.transport.is_closed
    assert not exchange.tasks


async def test_the_head_of_a_stream_waits_for_nothing():
    exchange = Exchange(sends(STREAM, PART, WHOLE))
    await exchange.run()
    head, *parts = exchange.transport.writes
    assert head.endswith(b"transfer-encoding: chunked\r\n\r\n")
    assert parts == [b"6\r\na part\r\n", b"6\r\na part\r\n0\r\n\r\n"]


async def test_a_large_part_is_written_beside_its_frame():
    """Without a copy: it is the same object."""
    body = bytes(SHORT_BODY + 1)
    exchange = Exchange(sends(STREAM, {**PART, "body": body}, {**WHOLE, "body": body}))
    await exchange.run()
    _, *parts = exchange.transport.writes
    assert parts == [b"10001\r\n", body, b"\r\n", b"10001\r\n", body, b"\r\n", b"0\r\n\r\n"]
    assert parts[1] is body


async def test_a_stream_for_a_client_without_chunks_ends_with_the_connection():
    exchange = Exchange(sends(STREAM, PART, WHOLE), version="1.0")
    assert (await exchange.run()).endswith(b"connection: close\r\n\r\na parta part")
    assert exchange.transport.is_closed


async def test_what_fails_after_the_answer_leaves_the_connection_to_the_next_request():
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(START)
        await send(WHOLE)
        raise ValueError("too late")

    exchange = Exchange(app)
    assert (await exchange.run()).endswith(b"a part")
    assert not exchange.transport.is_closed


async def test_what_fails_before_the_body_is_a_failure_with_a_status():
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send(START)
        raise ValueError("before the body")

    answer = await Exchange(app).run()
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_a_response_without_a_body_ends_with_its_head(method, status):
    """Bytes behind it would be read as the response to the next request."""
    exchange = Exchange(
        sends({"type": "http.response.start", "status": status, "headers": []}, PART, WHOLE), method=method
    )
    assert (await exchange.run()).endswith(b"date: today\r\n\r\n")
    assert exchange.ended


async def test_a_response_without_content_has_no_length():
    exchange = Exchange(sends(START | {"status": 204}, WHOLE))
    assert (await exchange.run()) == b"HTTP/1.1 204 No Content\r\ndate: today\r\n\r\n"


@pytest.mark.parametrize(("status", "length"), [(200, b"0"), (404, b"0"), (204, None)])
async def test_a_response_without_content_has_no_content_type(status, length):
    headers = [(b"Content-Type", b"text/plain"), (b"x-more", b"stays")]
    if length is not None:
        headers.append((b"content-length", length))
    end = {"type": "http.response.body", "body": b"", "more_body": False}
    answer = await Exchange(sends(START | {"status": status, "headers": headers}, end)).run()
    assert b"content-type" not in answer.lower()
    assert b"x-more: stays" in answer


@pytest.mark.parametrize(
    ("headers", "framing"),
    [
        ([(b"Transfer-Encoding", b"gzip, chunked")], b"transfer-encoding: chunked"),
        ([(b"transfer-encoding", b"chunked"), (b"content-length", b"6")], b"content-length: 6"),
        ([(b"content-length", b"006"), (b"content-length", b"6")], b"content-length: 6"),
        (
            [(b"content-length", b"6"), (b"connection", b"upgrade, keep-alive"), (b"upgrade", b"x")],
            b"content-length: 6",
        ),
    ],
)
async def test_the_framing_of_a_response_is_not_that_of_the_app(headers, framing):
    exchange = Exchange(sends(START | {"headers": headers}, WHOLE))
    head, _, _ = (await exchange.run()).partition(b"\r\n\r\n")
    assert head == b"HTTP/1.1 200 OK\r\ndate: today\r\n" + framing


async def test_an_app_may_end_the_connection():
    exchange = Exchange(sends(START | {"headers": [*START["headers"], (b"connection", b"Close")]}, WHOLE))
    assert b"connection: close\r\n\r\na part" in await exchange.run()
    assert exchange.transport.is_closed


@pytest.mark.parametrize(
    "start",
    [
        START | {"status": 103},
        START | {"headers": [(b"content-length", b"6"), (b"content-length", b"7")]},
        START | {"headers": [(b"content-length", b"-6")]},
    ],
    ids=["an interim response", "two lengths", "no length"],
)
async def test_a_head_without_one_end_is_a_failure(start):
    answer = await Exchange(sends(start, WHOLE)).run()
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "header",
    [(b"x-a", b"1\r\nset-cookie: a=b"), (b"x-a", b"1\x00"), (b"x-a: 1\r\nx-b", b"2"), (b"", b"\x7f")],
)
async def test_a_header_that_would_break_the_head_is_a_failure(header):
    exchange = Exchange(sends({**START, "headers": [*START["headers"], header]}, WHOLE))
    answer = await exchange.run()
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"x-a" not in answer
    assert exchange.transport.is_closed


@pytest.mark.parametrize(
    "messages",
    [(), (START, PART), (STREAM, PART), (START, {**WHOLE, "body": b"short"}), (START, PART, WHOLE)],
)
async def test_an_answer_that_is_not_whole_ends_the_connection(messages):
    exchange = Exchange(sends(*messages))
    answer = await exchange.run()
    assert exchange.transport.is_closed
    assert answer.startswith(b"HTTP/1.1 500 ") == (not messages)


@pytest.mark.parametrize("is_started", [False, True])
async def test_a_request_that_is_cut_off_at_the_end_of_the_drain_is_refused_or_broken_off(is_started):
    running = asyncio.Event()

    async def slow(_scope: Any, _receive: Any, send: Any) -> None:
        if is_started:
            await send(STREAM)
            await send(PART)
        running.set()
        await asyncio.Event().wait()

    exchange = Exchange(slow)
    task = exchange.begin()
    await running.wait()
    task.cancel()
    await task
    answer = b"".join(exchange.transport.writes)
    assert exchange.transport.is_closed
    assert not exchange.tasks
    if is_started:
        assert answer.endswith(b"a part\r\n")
    else:
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 5\r\n" in answer


@pytest.fixture
def file(tmp_path):
    (tmp_path / "file").write_bytes(b"so many bytes")
    with (tmp_path / "file").open("rb") as opened:
        yield opened.fileno()


def part_of_file(file, offset, count):
    return {"type": EXTENSION, "file": file, "offset": offset, "count": count, "more_body": True}


@pytest.mark.parametrize(
    ("start", "method", "version", "body"),
    [
        (STREAM, "GET", "1.1", b"4\r\nmany\r\n6\r\na part\r\n0\r\n\r\n"),
        (STREAM, "GET", "1.0", b"manya part"),
        (START | {"headers": [(b"content-length", b"10")]}, "GET", "1.1", b"manya part"),
        (STREAM, "HEAD", "1.1", b""),
        (STREAM | {"status": 304}, "GET", "1.1", b""),
    ],
)
async def test_bytes_of_a_file_come_in_their_place(file, start, method, version, body):
    exchange = Exchange(sends(start, part_of_file(file, 3, 4), WHOLE), method=method, version=version)
    await exchange.run()
    assert exchange.transport.client.recv(1000).partition(b"\r\n\r\n")[2] == body
    assert exchange.ended


async def test_no_bytes_of_a_file_do_not_end_the_body(file):
    exchange = Exchange(sends(STREAM, part_of_file(file, 3, 0), WHOLE))
    assert (await exchange.run()).endswith(b"\r\n\r\n6\r\na part\r\n0\r\n\r\n")


def open_numbers():
    return sorted(Path("/proc/self/fd").iterdir())


async def test_between_two_parts_of_files_is_one_write_and_no_number_stays_open(file):
    exchange = Exchange(sends(STREAM, part_of_file(file, 0, 2), part_of_file(file, 3, 4), WHOLE))
    before = open_numbers()
    await exchange.run()
    assert exchange.transport.writes[1:] == [b"2\r\n", b"\r\n4\r\n", b"\r\n6\r\na part\r\n0\r\n\r\n"]
    assert open_numbers() == before


async def test_more_bytes_of_a_file_than_were_announced_end_the_connection(file):
    exchange = Exchange(sends(START, part_of_file(file, 0, 7)))
    await exchange.run()
    assert b"500" in exchange.transport.writes[0]
