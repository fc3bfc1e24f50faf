"""Bytes from a file or a pipe to a slow socket, and from a socket to a pipe."""

import asyncio
import contextlib
import os
import socket

import pytest

from ingot_wire.zero_copy import (
    LARGE_PIPE_BYTES,
    LARGE_PIPES,
    PIPE_BYTES,
    Pipe,
    Pipes,
    receive_into_pipe,
    send_file,
    send_from_pipe,
)

CONTENT = os.urandom(3_000_000)


@pytest.fixture
def sockets():
    """Two ends, of which the first takes little at once."""
    first, second = socket.socketpair()
    with first, second:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        for end in (first, second):
            end.setblocking(False)
        yield first, second


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    with path.open("rb") as opened:
        yield opened.fileno()


async def read(connection, count):
    loop, parts = asyncio.get_running_loop(), []
    while count and (part := await loop.sock_recv(connection, min(count, 65_536))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


async def test_a_file_goes_into_a_socket_as_that_takes_it(sockets, file):
    first, second = sockets
    reading = asyncio.create_task(read(second, 2_000_000))
    await send_file(file, first.fileno(), 1_000_000, 2_000_000)
    assert await reading == CONTENT[1_000_000:]


async def test_bytes_come_through_a_pipe_unchanged(sockets, file):
    first, second = sockets
    sending = asyncio.create_task(send_file(file, first.fileno(), 0, len(CONTENT)))
    received, (incoming, outgoing) = b"", socket.socketpair()
    with incoming, outgoing, Pipe() as pipe:
        incoming.setblocking(False)
        outgoing.setblocking(False)
        while len(received) < len(CONTENT):
            count = await receive_into_pipe(second.fileno(), pipe.writer, len(CONTENT) - len(received))
            reading = asyncio.create_task(read(incoming, count))
            await send_from_pipe(pipe.reader, outgoing.fileno(), count)
            received += await reading
    await sending
    assert received == CONTENT


def test_the_first_pipes_are_large_and_the_others_take_their_place_when_they_end():
    pipes, large = Pipes(), LARGE_PIPE_BYTES
    with contextlib.ExitStack() as stack:
        with pipes.pipe() as first:
            sizes = [stack.enter_context(pipes.pipe()).size for _ in range(LARGE_PIPES)]
            assert (first.size, *sizes) == (*[large] * LARGE_PIPES, PIPE_BYTES)
        with pipes.pipe() as next_one, pipes.pipe() as last:
            assert (next_one.size, last.size) == (large, PIPE_BYTES)


def test_a_pipe_that_may_not_be_so_large_is_as_others():
    with Pipe(-1) as pipe:  # more than any may have: it is taken as 4 GiB
        assert pipe.size == PIPE_BYTES


async def test_a_file_that_is_too_short_is_no_success(sockets, file):
    first, second = sockets
    reading = asyncio.create_task(read(second, 1000))
    with pytest.raises(OSError, match="fewer bytes"):
        await send_file(file, first.fileno(), len(CONTENT) - 1000, 1001)
    assert len(await reading) == 1000


async def test_who_waits_for_the_other_side_hears_that_it_is_gone(sockets, file):
    first, second = sockets
    sending = asyncio.create_task(send_file(file, first.fileno(), 0, len(CONTENT)))
    with Pipe() as pipe:
        await receive_into_pipe(second.fileno(), pipe.writer, 1000)
        second.close()
        with pytest.raises(ConnectionError):
            await sending


async def test_nothing_more_comes_from_who_is_gone(sockets):
    first, second = sockets
    with Pipe() as pipe:
        receiving = asyncio.create_task(receive_into_pipe(second.fileno(), pipe.writer, 1000))
        await asyncio.sleep(0)
        first.close()
        with pytest.raises(ConnectionResetError):
            await receiving


async def test_a_pipe_leaves_nothing_open():
    with Pipe() as pipe:
        descriptors = (pipe.reader, pipe.writer)
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            pytest.fail("it is open")
