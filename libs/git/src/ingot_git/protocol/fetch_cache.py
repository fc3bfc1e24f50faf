"""A cache of responses to fetches: git runs once for identical requests.

The caller checks the permissions first. It builds the key from the generation of the repository and the
request.

Responses of up to `WINDOW` bytes are cached in memory. A longer response is written to a file when a second
client requests it, while git runs or within `SECOND_USE_SECONDS`. The first use writes nothing. The files
have no names, so the system removes them when the process ends for any reason.
"""

import asyncio
import contextlib
import tempfile
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import structlog
from cachetools import LRUCache, TTLCache
from prometheus_client import Counter

from ingot_git.process.command import MIB
from ingot_git.process.errors import GitTimedOut
from ingot_git.process.spools import Part, Spool

log = structlog.get_logger()
ANSWERS = Counter("ingot_git_answers_total", "Answers to fetches, and where they come from", ["source"])

WINDOW = 2 * MIB
MEMORY_BYTES = 64 * MIB
SECOND_USE_SECONDS = 600.0
SLOW_SECONDS = 10.0
"""Without a file, other clients wait for the slowest one for this time plus half of the run time."""
IDLE_SECONDS = 3600.0
MUCH, PAUSE = 4 * MIB, 0.02
"""Pause of a reader that is close to the end of a growing file: each part costs the same."""

Start = Callable[[], AsyncGenerator[bytes, None]]


class Usage(NamedTuple):
    """The current content of a cache: bytes and number of its files, responses in memory, running fetches."""

    file_bytes: int
    files: int
    in_memory: int
    running: int


class FetchCache:
    """The cached responses of one process.

    Args:
        folder: the folder of its files.
        max_bytes: limit for the total size of its files; 0 disables sharing between fetches.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._used_bytes = 0
        self._running: dict[bytes, _Run] = {}
        self._files: OrderedDict[bytes, Spool] = OrderedDict()
        self._small: LRUCache[bytes, bytes] = LRUCache(min(MEMORY_BYTES, max_bytes), getsizeof=len)
        self._recent: TTLCache[bytes, bool] = TTLCache(10_000, SECOND_USE_SECONDS)

    @property
    def usage(self) -> Usage:
        """Return the current content."""
        return Usage(self._used_bytes, len(self._files), len(self._small), len(self._running))

    def answer(
        self,
        key: bytes,
        start: Start,
        *,
        expected_bytes: int,
        is_valid: Callable[[], Awaitable[bool]],
        takes_files: bool = False,
        signed_in: bool = True,
        to_file: bool = False,
    ) -> AsyncGenerator[Part, None]:
        """Return the response to a fetch, shared with other clients if possible.

        Args:
            key: identifies everything that the response depends on.
            start: starts git; errors of its stream reach every client of the response.
            expected_bytes: the approximate maximum size.
            is_valid: called at the end; the response is cached only if the key is still valid.
            takes_files: the response may contain file ranges. A range is valid until the next one is
                requested.
            signed_in: the client does not wait for a run of anonymous callers in which git has sent nothing.
            to_file: write a long response to a file for the first client, too: git then waits for no client.

        Raises (while iterating):
            GitTimedOut: the client was dropped, because it is much slower than other clients.
        """
        if (small := self._small.get(key)) is not None:
            ANSWERS.labels("memory").inc()
            return _once(small)
        if (spool := self._files.get(key)) is not None:
            ANSWERS.labels("file").inc()
            self._files.move_to_end(key)
            self._expire_later(key, spool)
            return spool.read(takes_files=takes_files)
        run = self._running.get(key)
        if run is None or (signed_in and run.may_be_refused):
            ANSWERS.labels("git").inc()
            fits = expected_bytes <= self._max_bytes // 2
            is_second = fits and (to_file or key in self._recent)
            run = _Run(self, key, start, is_valid, is_shared=fits, is_second=is_second, signed_in=signed_in)
            self._recent[key] = True
            if fits:
                self._running[key] = run
        else:
            ANSWERS.labels("shared").inc()
        return run.read(start, takes_files=takes_files)

    def reserve(self, count: int) -> bool:
        """Reserve bytes for a file; evict files without readers. Return False if there is no space."""
        for key, spool in list(self._files.items()):
            if self._used_bytes + count <= self._max_bytes:
                break
            if not spool.readers:
                self._drop(key)
        if self._used_bytes + count > self._max_bytes:
            return False
        self._used_bytes += count
        return True

    def release(self, count: int) -> None:
        """Release reserved bytes."""
        self._used_bytes -= count

    def new_spool(self) -> Spool | None:
        """Return a new file. If it cannot be created, log a warning and return None."""
        try:
            return Spool(self, tempfile.TemporaryFile(dir=self._folder, buffering=0))
        except OSError as error:
            log.warning("fetch not cached", error=error.strerror)
            return None

    def end_sharing(self, run: "_Run") -> None:
        """Stop sharing the response of a run with further clients."""
        if self._running.get(run.key) is run:
            del self._running[run.key]

    def keep(self, key: bytes, spool: Spool | None, parts: list[bytes]) -> None:
        """Cache a complete response. Its content is in ``spool``, or else in ``parts``."""
        if spool is not None:
            if key in self._files:  # another run was faster
                return
            self._files[key] = spool
            spool.is_cached = True
            self._expire_later(key, spool)
            return
        with contextlib.suppress(ValueError):  # larger than the cache
            self._small[key] = b"".join(parts)

    def _expire_later(self, key: bytes, spool: Spool) -> None:
        if spool.expiration is not None:
            spool.expiration.cancel()
        loop = asyncio.get_running_loop()
        spool.expiration = loop.call_later(IDLE_SECONDS, self._expire, key, spool)

    def _expire(self, key: bytes, spool: Spool) -> None:
        if self._files.get(key) is spool:
            self._drop(key)

    def _drop(self, key: bytes) -> None:
        spool = self._files.pop(key)
        if spool.expiration is not None:
            spool.expiration.cancel()
        spool.is_cached = False
        spool.close_unused()


class _Run:
    """One run of git, and the clients that receive its response.

    The file, if there is one, has the first bytes; `_live` has the bytes after it. While clients may join,
    all bytes are kept. Afterwards bytes are discarded when every client has them, and git waits for the
    slowest client.
    """

    def __init__(
        self,
        cache: FetchCache,
        key: bytes,
        start: Start,
        is_valid: Callable[[], Awaitable[bool]],
        *,
        is_shared: bool,
        is_second: bool,
        signed_in: bool,
    ) -> None:
        self.key, self._signed_in = key, signed_in
        self._cache, self._start, self._is_valid = cache, start, is_valid
        self._is_shared, self._is_used_again = is_shared, is_second
        self._live: dict[int, bytes] = {}
        self._size = 0
        self._spool: Spool | None = None
        self._positions: dict[object, int] = {}
        self._progress = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        self._is_done = self._is_abandoned = False
        self._began, self._waited = asyncio.get_running_loop().time(), 0.0

    @property
    def may_be_refused(self) -> bool:
        """True if an anonymous caller began the run, and git has sent nothing. It may wait for a slot."""
        return not self._signed_in and not self._size

    async def read(self, start: Start, *, takes_files: bool) -> AsyncGenerator[Part, None]:
        """Yield the response for one client from its beginning. Kill git when the last client leaves early.

        If all earlier clients left before this client reads, ``start`` starts git again, only for this
        client. ``start`` must use the slot of this client: the client that began the run may still wait for a
        slot. Raises GitTimedOut if this client was dropped.
        """
        if self._is_abandoned:  # the last other client left after this one joined
            again = _Run(
                self._cache,
                self.key,
                start,
                self._is_valid,
                is_shared=False,
                is_second=False,
                signed_in=self._signed_in,
            )
            async with contextlib.aclosing(again.read(start, takes_files=takes_files)) as parts:
                async for piece in parts:
                    yield piece
            return
        reader = object()
        self._positions[reader] = 0
        if self._work is None:
            self._work = asyncio.create_task(self._produce(), name="git answers a fetch")
        else:
            self._is_used_again = True
        try:
            position = 0
            while (part := await self._next(position, takes_files=takes_files)) is not None:
                position += len(part)
                self._advance(reader, position)
                # A client that is dropped during the yield still sends this part.
                with self._spool.keep_open() if self._spool is not None else contextlib.nullcontext():
                    yield part
                self._advance(reader, position)
            await self._work
        finally:
            self._positions.pop(reader, None)
            self._signal()
            if not self._positions:
                await self._abandon()

    def _advance(self, reader: object, position: int) -> None:
        """Record the position of a client in the response. Raises GitTimedOut if the client was dropped."""
        if reader not in self._positions:
            raise GitTimedOut("the client is much slower than other clients of the same fetch")
        if self._positions[reader] != position:
            self._positions[reader] = position
            self._signal()

    async def _next(self, position: int, *, takes_files: bool) -> Part | None:
        """Return the bytes at a position when they are available; None at the end of the response."""
        while position >= self._size and not self._is_done:
            await self._progress.wait()
        if position >= self._size:
            return None
        if takes_files and self._spool is not None and self._size - position < MUCH and not self._is_done:
            await asyncio.sleep(PAUSE)
        if self._spool is not None and position < self._spool.size:
            return await self._spool.part(position, takes_files=takes_files)
        return self._live[position]

    async def _produce(self) -> None:
        try:
            async with contextlib.aclosing(self._start()) as stream:
                async for chunk in stream:
                    await self._add(chunk)
                    self._signal()
                    await self._wait_for_readers()
            if self._is_shared and (self._spool is None or self._is_used_again) and await self._is_valid():
                self._cache.keep(self.key, self._spool, list(self._live.values()))
        finally:
            self._cache.end_sharing(self)
            self._is_done = True
            self._signal()

    async def _add(self, chunk: bytes) -> None:
        if self._is_shared and self._spool is None and self._size + len(chunk) > WINDOW:
            await self._begin_file()
        if self._spool is not None and self._is_shared:
            if await self._spool.write(chunk):
                self._size += len(chunk)
                return
            self._stop_sharing()
        self._live[self._size] = chunk
        self._size += len(chunk)

    async def _begin_file(self) -> None:
        """Write the response to a file if a second client needs it; otherwise stop sharing it."""
        spool = self._cache.new_spool() if self._is_used_again else None
        if spool is None:
            self._stop_sharing()
            return
        is_written = False
        try:
            is_written = await spool.write(b"".join(self._live.values()))
        finally:
            if not is_written:
                spool.close_unused()
        if not is_written:
            self._stop_sharing()
            return
        spool.readers += 1  # until `_abandon`
        self._spool = spool
        self._live.clear()

    def _stop_sharing(self) -> None:
        self._is_shared = False
        self._cache.end_sharing(self)

    async def _wait_for_readers(self) -> None:
        """Wait until the next part fits into memory. Drop clients that are much slower than the others."""
        loop = asyncio.get_running_loop()
        while not self._is_shared and self._positions:
            slowest = min(self._positions.values())
            for position in [one for one in self._live if one < slowest]:
                del self._live[position]
            if sum(map(len, self._live.values())) <= WINDOW:
                return
            began = loop.time()
            patience = SLOW_SECONDS + (began - self._began) / 2 - self._waited
            is_alone = len(self._positions) == 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if is_alone else max(patience, 0.0)):
                    await self._progress.wait()
            if not is_alone:
                self._waited += loop.time() - began
                if self._waited >= SLOW_SECONDS + (loop.time() - self._began) / 2:
                    self._drop_slowest(slowest)

    def _drop_slowest(self, position: int) -> None:
        for reader in [one for one, place in self._positions.items() if place == position]:
            if len(self._positions) > 1:
                del self._positions[reader]

    def _signal(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()

    async def _abandon(self) -> None:
        """End git and release the file after the last client has left."""
        self._is_abandoned = True
        self._cache.end_sharing(self)
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        if self._spool is not None:
            self._spool.readers -= 1
            self._spool.close_unused()


async def _once(answer: bytes) -> AsyncGenerator[Part, None]:
    yield answer
