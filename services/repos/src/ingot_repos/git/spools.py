"""Files of answers to fetches, written and read at the same time. They have no names: nothing is left of them."""

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
"""Parts of a file that are in memory while it is read."""


class FilePart(msgspec.Struct, frozen=True):
    """Bytes of a file that are in memory, so that they may go from there into a socket."""

    file: int
    offset: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __bytes__(self) -> bytes:
        return os.pread(self.file, self.count, self.offset)


Part = bytes | FilePart


class Room(Protocol):
    """Who knows how many bytes all files may have together."""

    def reserve(self, count: int) -> bool: ...

    def release(self, count: int) -> None: ...


class Spool:
    """A file that an answer is written to and read from at the same time; closed when nobody reads or keeps it."""

    def __init__(self, room: Room, file: IO[bytes]) -> None:
        self._room, self._file = room, file
        self.size = self.readers = 0
        self._newest: OrderedDict[int, bytes] = OrderedDict()
        self.is_cached = False
        self.expiration: asyncio.TimerHandle | None = None

    async def write(self, chunk: bytes) -> bool:
        """Append; False if there is no room: the file stays as it is."""
        if not self._room.reserve(len(chunk)):
            return False
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, chunk))
        try:
            await asyncio.shield(writing)
        except OSError as error:
            self._room.release(len(chunk))
            log.warning("fetch not cached", error=error.strerror)
            return False
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # the file stays open until the thread has let go of it
            self._room.release(len(chunk))
            raise
        self._remember(self.size, chunk)
        self.size += len(chunk)
        return True

    def _remember(self, position: int, part: bytes) -> None:
        """Keep what was written or read last: clients that began together want the same at nearly the same time."""
        self._newest[position] = part
        if len(self._newest) > _NEWEST:
            self._newest.popitem(last=False)

    def _write(self, chunk: bytes) -> None:
        position, unsent = self.size, memoryview(chunk)
        while unsent:
            written = os.pwrite(self._file.fileno(), unsent, position)
            position, unsent = position + written, unsent[written:]

    async def part(self, position: int, *, takes_files: bool) -> Part:
        """The bytes from there on."""
        count = min(_FILE_CHUNK, self.size - position)
        if takes_files and self._is_in_memory(position) and self._is_in_memory(position + count - 1):
            return FilePart(self._file.fileno(), position, count)
        # To a multiple of the size, so that clients which are apart by a part come together.
        count = min(_CHUNK - position % _CHUNK, self.size - position)
        if (newest := self._newest.get(position)) is not None:
            return newest
        buffer = bytearray(count)
        try:  # what is in memory already needs no thread
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
        """All of a file that is written to its end."""
        with self.stays_open():
            position = 0
            while position < self.size:
                part = await self.part(position, takes_files=takes_files)
                position += len(part)
                yield part

    @contextlib.contextmanager
    def stays_open(self) -> Iterator[None]:
        """Inside the block a `FilePart` is of this file, and its number of no other."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1
            self.close_unused()

    def close_unused(self) -> None:
        """Close it, unless it is kept or somebody reads it."""
        if not self.readers:
            self._newest.clear()
        if not self.is_cached and not self.readers and not self._file.closed:
            self._file.close()
            self._room.release(self.size)
