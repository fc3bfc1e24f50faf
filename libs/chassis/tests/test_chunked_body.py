"""Bodies in chunks that are read past the transport: wherever the network cuts them, and what is no such body."""

import os
import socket

import pytest

from ingot_chassis.peers.chunked_body import LONGEST_LINE, ChunkedBody
from ingot_chassis.zero_copy import Pipe

WIRE = b"5\r\nhello\r\n1;name=value\r\n,\r\nE\r\n wide and large\r\n0\r\n\r\n".replace(b"E\r\n", b"f\r\n")
BODY = b"hello, wide and large"


async def read(beginning, rest, *, ends=False):
    """The whole body of which ``beginning`` was read before."""
    ours, theirs = socket.socketpair()
    with ours, theirs, Pipe() as pipe:
        ours.setblocking(False)
        theirs.sendall(rest)
        if ends:
            theirs.close()
        chunks, parts = ChunkedBody(ours.fileno(), beginning), []
        try:
            while not chunks.is_whole:
                part = await chunks.part(pipe.writer)
                parts.append(os.read(pipe.reader, part) if isinstance(part, int) else part)
        finally:
            chunks.close()
        return b"".join(parts)


@pytest.mark.parametrize("cut", range(len(WIRE) + 1))
async def test_a_body_is_the_same_wherever_it_is_cut(cut):
    assert await read(WIRE[:cut], WIRE[cut:]) == BODY


async def test_a_large_chunk_goes_through_the_pipe():
    content = os.urandom(100_000)
    assert await read(b"", b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)) == content


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (b"five\r\nhello\r\n0\r\n\r\n", "no size"),
        (b"-5\r\nhello\r\n0\r\n\r\n", "no size"),
        (b"\r\nhello\r\n0\r\n\r\n", "no size"),
        (b"1" * (LONGEST_LINE + 20), "no end"),
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
