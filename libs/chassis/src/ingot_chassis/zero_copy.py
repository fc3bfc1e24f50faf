"""Bytes that go from a file or a pipe into a socket, or from a socket into a pipe, and never through this process.

To copy a large answer in and out again costs more than all else of it (docs/adr/0024). All descriptors are non-blocking,
but for those of files; none of them may be that of a transport, whose number may belong to another connection at any time.
"""

import asyncio
import contextlib
import fcntl
import os
import select
import sys
import termios
from collections.abc import Callable, Iterator
from typing import Self

EXTENSION = "http.response.zerocopysend"
"""The message of ASGI's extension of that name: ``count`` bytes of ``file`` from ``offset`` on; of a pipe without one."""
PIPE_BYTES = 256 * 1024
"""What a pipe takes; less where the user has many already (pipe(7): 64 MiB in all pipes of a user who is not root)."""

LARGE_PIPE_BYTES, LARGE_PIPES = 1024 * 1024, 16
"""What so many of the pipes of ``Pipes`` take: a part costs as much whatever its size. More of them would leave too little."""


class Pipe:
    """A non-blocking pipe of ``size`` bytes, closed on leaving."""

    def __init__(self, most: int = PIPE_BYTES) -> None:
        self._most = most

    def __enter__(self) -> Self:
        self.reader, self.writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for size in (self._most, PIPE_BYTES):
            with contextlib.suppress(OSError):
                fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, size)
                break
        self.size = fcntl.fcntl(self.writer, fcntl.F_GETPIPE_SZ)
        return self

    def unread(self) -> int:
        """How many bytes are in it."""
        count = bytearray(4)
        fcntl.ioctl(self.reader, termios.FIONREAD, count)
        return int.from_bytes(count, sys.byteorder)

    def __exit__(self, *_: object) -> None:
        os.close(self.reader)
        os.close(self.writer)


def is_readable(descriptor: int) -> bool:
    """Whether something can be read now, or the other side is gone."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


class Pipes:
    """Pipes that are open at once."""

    def __init__(self) -> None:
        self._large = 0

    @contextlib.contextmanager
    def pipe(self) -> Iterator[Pipe]:
        """One more, closed on leaving; a large one, unless there are enough of these."""
        is_large = self._large < LARGE_PIPES
        self._large += is_large
        try:
            with Pipe(LARGE_PIPE_BYTES if is_large else PIPE_BYTES) as pipe:
                yield pipe
        finally:
            self._large -= is_large


async def wait_readable(descriptor: int) -> None:
    """Until something can be read, or the other side is gone."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def wait_writable(descriptor: int) -> None:
    """Until something can be written, or the other side is gone."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)


async def send_file(file: int, connection: int, offset: int, count: int) -> None:
    """Send bytes of a file that are in memory already: reading them from a disk would block. Raises OSError."""
    end = offset + count
    while offset < end:
        offset += await _moved(lambda: os.sendfile(connection, file, offset, end - offset), connection)  # noqa: B023


async def send_from_pipe(pipe: int, connection: int, count: int) -> None:
    """Send bytes that are in a pipe. Raises OSError."""
    while count:
        count -= await _moved(
            lambda: os.splice(pipe, connection, count, flags=os.SPLICE_F_NONBLOCK),  # noqa: B023
            connection,
        )


async def receive_into_pipe(connection: int, pipe: int, most: int) -> int:
    """Let at most so many bytes from a socket into an empty pipe; how many. Raises OSError."""
    while True:
        if is_readable(connection):
            # Others have their turn; to wait for what is there costs ten calls of the system.
            await asyncio.sleep(0)
        else:
            await wait_readable(connection)
        try:
            count = os.splice(connection, pipe, most, flags=os.SPLICE_F_NONBLOCK)
        except BlockingIOError:
            continue
        if not count:
            raise ConnectionResetError("the connection ended")
        return count


async def _moved(move: Callable[[], int], connection: int) -> int:
    """How many bytes went into the connection, once it took some."""
    while True:
        try:
            count = move()
        except BlockingIOError:
            await wait_writable(connection)
            continue
        if not count:
            raise OSError("there is less to send than was said")
        return count
