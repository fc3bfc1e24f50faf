"""Files that buffer responses to fetches, and that are written and read at the same time.

The files have no names, so the system removes them when they are closed.
"""

import asyncio
import contextlib
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator
from typing import IO, Protocol

import msgspec
import structlog

log = structlog.get_logger()

_CHUNK = 512 * 1024
_FILE_CHUNK = 4 * 1024 * 1024
_NEWEST = 4
"""Chunks of a file that stay in memory while it is read."""


class FilePart(msgspec.Struct, frozen=True):
    """A range of a file that is in the page cache, for sendfile(2)."""

    file: int
    offset: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __bytes__(self) -> bytes:
        return os.pread(self.file, self.count, self.offset)


Part = bytes | FilePart


class SpaceBudget(Protocol):
    """Tracks the total size of all files, and limits it."""

    def reserve(self, count: int) -> bool: ...

    def release(self, count: int) -> None: ...


class Spool:
    """A file for one response, written and read at the same time.

    It is closed when it has no readers and is not cached.
    """

    def __init__(self, space: SpaceBudget, file: IO[bytes]) -> None:
        self._space, self._file = space, file
        self.size = self.readers = 0
        self._newest: OrderedDict[int, bytes] = OrderedDict()
        self.is_cached = False
        self.expiration: asyncio.TimerHandle | None = None

    async def write(self, chunk: bytes) -> bool:
        """Append a chunk. Return False, with an unchanged size, if there is no space or the write fails."""
        if not self._space.reserve(len(chunk)):
            return False
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, chunk))
        try:
            await asyncio.shield(writing)
        except OSError as error:
            self._space.release(len(chunk))
            log.warning("fetch not cached", error=error.strerror)
            return False
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # the file must stay open until the thread is done
            self._space.release(len(chunk))
            raise
        self._remember(self.size, chunk)
        self.size += len(chunk)
        return True

    def _remember(self, position: int, part: bytes) -> None:
        """Keep recent chunks in memory, because clients that start together read the same chunks."""
        self._newest[position] = part
        if len(self._newest) > _NEWEST:
            self._newest.popitem(last=False)

    def _write(self, chunk: bytes) -> None:
        position, unsent = self.size, memoryview(chunk)
        while unsent:
            written = os.pwrite(self._file.fileno(), unsent, position)
            position, unsent = position + written, unsent[written:]

    async def part(self, position: int, *, takes_files: bool) -> Part:
        """Return the next bytes from ``position``. With ``takes_files``, this may be a range of the file.

        ``position`` must be below ``size``.
        """
        count = min(_FILE_CHUNK, self.size - position)
        if takes_files and self._is_in_memory(position) and self._is_in_memory(position + count - 1):
            return FilePart(self._file.fileno(), position, count)
        # End at a multiple of the chunk size: clients that are close together then read the same chunks.
        count = min(_CHUNK - position % _CHUNK, self.size - position)
        if (newest := self._newest.get(position)) is not None:
            return newest
        buffer = bytearray(count)
        try:  # data in the page cache needs no thread
            got = os.preadv(self._file.fileno(), [buffer], position, os.RWF_NOWAIT)
        except OSError:
            got = 0
        if got <= 0:
            got = await asyncio.to_thread(os.preadv, self._file.fileno(), [buffer], position)
        part = bytes(memoryview(buffer)[:got])
        self._remember(position, part)
        return part

    def _is_in_memory(self, position: int) -> bool:
        try:
            return os.preadv(self._file.fileno(), [bytearray(1)], position, os.RWF_NOWAIT) > 0
        except OSError:
            return False

    async def read(self, *, takes_files: bool) -> AsyncGenerator[Part, None]:
        """Yield the content of a complete file. With ``takes_files``, parts may be ranges of the file."""
        with self.keep_open():
            position = 0
            while position < self.size:
                part = await self.part(position, takes_files=takes_files)
                position += len(part)
                yield part

    @contextlib.contextmanager
    def keep_open(self) -> Iterator[None]:
        """Keep the file open inside the block, so the descriptor of a `FilePart` stays valid."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1
            self.close_unused()

    def close_unused(self) -> None:
        """Close the file unless it is cached or has readers."""
        if not self.readers:
            self._newest.clear()
        if not self.is_cached and not self.readers and not self._file.closed:
            self._file.close()
            self._space.release(self.size)
