"""Chunked bodies that are read past the transport: cut anywhere by the network, or invalid."""

import os
import socket

import pytest

from ingot_wire.chunked_body import LEAST_PIPE, LONGEST_LINE, ChunkedBody
from ingot_wire.zero_copy import PIPE_BYTES, Pipe

WIRE = b"5\r\nhello\r\n1;name=value\r\n,\r\nE\r\n wide and large\r\n0\r\n\r\n".replace(b"E\r\n", b"f\r\n")
BODY = b"hello, wide and large"


async def read(beginning, rest, *, ends=False, pipe_size=PIPE_BYTES):
    """The whole body of which ``beginning`` was read before."""
    ours, theirs = socket.socketpair()
    with ours, theirs, Pipe() as pipe:
        ours.setblocking(False)
        pipe.size = pipe_size
        theirs.sendall(rest)
        if ends:
            theirs.close()
        chunks, parts = ChunkedBody(ours.fileno(), beginning), []
        try:
            while not chunks.is_whole:
                part = await chunks.part(pipe)
                parts.append(os.read(pipe.reader, part) if isinstance(part, int) else part)
        finally:
            chunks.close()
        return b"".join(parts)


@pytest.mark.parametrize("cut", range(len(WIRE) + 1))
async def test_a_body_is_the_same_wherever_it_is_cut(cut):
    assert await read(WIRE[:cut], WIRE[cut:]) == BODY


@pytest.mark.parametrize("pipe_size", [PIPE_BYTES, LEAST_PIPE - 1])
async def test_a_large_chunk_comes_whole_through_a_pipe_and_past_one_that_is_small(pipe_size):
    content = os.urandom(100_000)
    wire = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
    assert await read(b"", wire, pipe_size=pipe_size) == content


@pytest.mark.parametrize("surplus", [b"", b"\r\n", b"HTTP/1.1"])
async def test_bytes_behind_a_body_are_noticed_and_not_read(surplus):
    ours, theirs = socket.socketpair()
    with ours, theirs, Pipe() as pipe:
        chunks = ChunkedBody(ours.fileno(), b"5\r\nhello\r\n0\r\n\r\n" + surplus)
        assert [await chunks.part(pipe), await chunks.part(pipe)] == [b"hello", b""]
        assert (chunks.is_whole, chunks.has_surplus) == (True, bool(surplus))
        chunks.close()


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (b"five\r\nhello\r\n0\r\n\r\n", "invalid chunk size"),
        (b"-5\r\nhello\r\n0\r\n\r\n", "invalid chunk size"),
        (b"\r\nhello\r\n0\r\n\r\n", "invalid chunk size"),
        (b"1" * (LONGEST_LINE + 20), "is longer than"),
        (b"4\r\nhello\r\n0\r\n\r\n", "longer than its size"),
        (b"5\r\nhello\r\n0\r\nname: value\r\n\r\n", "trailer"),
        (b"5\r\nhel", "ended"),
        (b"5\r\nhello\r\n", "ended"),
        (b"", "ended"),
    ],
)
@pytest.mark.parametrize("is_read", [True, False])
async def test_what_is_no_whole_body_is_an_error(wire, reason, is_read):
    with pytest.raises(ConnectionError, match=reason):
        await read(*((wire, b"") if is_read else (b"", wire)), ends=True)
