"""Moves bytes between files, pipes and sockets without copying them into this process.

Copying is most of the cost of a large response (ADR 24). All descriptors are non-blocking, except descriptors
of files. None may be the descriptor of a transport: when the transport closes, its number may belong to
another connection.
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
"""The message of the ASGI extension of that name.

``count`` bytes of ``file`` from ``offset`` on, or of a pipe without ``offset``.
"""
PIPE_BYTES = 256 * 1024
"""Capacity of a pipe in bytes.

Less if the user has many (pipe(7): 64 MiB in all pipes of a user who is not root).
"""

LARGE_PIPE_BYTES, LARGE_PIPES = 1024 * 1024, 16
"""Capacity in bytes of the first ``LARGE_PIPES`` pipes. Each part costs the same, whatever its size.

With more large pipes the user's limit would be exceeded.
"""


class Pipe:
    """A non-blocking pipe with a capacity of ``size`` bytes. Leaving the context closes it."""

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
        """Return the number of unread bytes in the pipe."""
        count = bytearray(4)
        fcntl.ioctl(self.reader, termios.FIONREAD, count)
        return int.from_bytes(count, sys.byteorder)

    def __exit__(self, *_: object) -> None:
        os.close(self.reader)
        os.close(self.writer)


def is_readable(descriptor: int) -> bool:
    """True if bytes can be read now, or the other side has closed the connection."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


_HANG_UP = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)


def has_hung_up(descriptor: int) -> bool:
    """True if the other side has ended its direction, even if earlier bytes have not been read.

    Systems without POLLRDHUP (other than Linux) detect only a reset.
    """
    poll = select.poll()
    poll.register(descriptor, _HANG_UP)
    return bool(poll.poll(0))


class Pipes:
    """Opens pipes. The first ``LARGE_PIPES`` open pipes are large."""

    def __init__(self) -> None:
        self._large = 0

    @contextlib.contextmanager
    def pipe(self) -> Iterator[Pipe]:
        """Yield a new pipe. It is large if fewer than ``LARGE_PIPES`` large pipes are open.

        The pipe is closed after the block.
        """
        is_large = self._large < LARGE_PIPES
        self._large += is_large
        try:
            with Pipe(LARGE_PIPE_BYTES if is_large else PIPE_BYTES) as pipe:
                yield pipe
        finally:
            self._large -= is_large


async def wait_readable(descriptor: int) -> None:
    """Wait until bytes can be read, or the other side has closed the connection."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def wait_writable(descriptor: int) -> None:
    """Wait until bytes can be written, or the other side has closed the connection."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)


async def send_file(file: int, connection: int, offset: int, count: int) -> None:
    """Send ``count`` bytes of a file from ``offset``. Raises OSError.

    The bytes must be in the page cache, because reading from a disk would block.
    """
    end = offset + count
    while offset < end:
        offset += await _retry_until_moved(
            lambda: os.sendfile(connection, file, offset, end - offset),  # noqa: B023
            connection,
        )


async def send_from_pipe(pipe: int, connection: int, count: int) -> None:
    """Send ``count`` bytes that are in a pipe. Raises OSError."""
    while count:
        count -= await _retry_until_moved(
            lambda: os.splice(pipe, connection, count, flags=os.SPLICE_F_NONBLOCK),  # noqa: B023
            connection,
        )


async def receive_into_pipe(connection: int, pipe: int, most: int) -> int:
    """Move at most ``most`` bytes from a socket into an empty pipe. Return their number. Raises OSError."""
    while True:
        if is_readable(connection):
            # Yield to other tasks: waiting for bytes that have already arrived would cost ten system calls.
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


async def _retry_until_moved(move: Callable[[], int], connection: int) -> int:
    """Move bytes to the connection when it accepts them. Return how many, at least one. Raises OSError."""
    while True:
        try:
            count = move()
        except BlockingIOError:
            await wait_writable(connection)
            continue
        if not count:
            raise OSError("the file or pipe has fewer bytes than were announced")
        return count
