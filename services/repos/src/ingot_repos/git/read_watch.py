"""Ends the process when libgit2 does not come back from a repository, which nobody reads then until git finds it sound.

libgit2 up to 1.9.7 never ends on some damaged objects, and mostly it holds the interpreter meanwhile: no code of Python
runs then. So a timer of the kernel counts the time of the processor since the event loop ran last; when there was too much,
the traces of all threads are written and the process ends. The same is written when it crashes, as on a damaged index of a
pack. Which repositories were read at this moment stands in the same file, which another process, or the next one, finds.
"""

import asyncio
import contextlib
import faulthandler
import fcntl
import mmap
import os
import signal
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import structlog

log = structlog.get_logger()

BEAT_SECONDS = 5.0
LONGEST_SECONDS = 900.0
"""Of a read that lets others work meanwhile."""
_SLOT = struct.Struct("q")


def most_processor_seconds() -> float:
    """So much time of the processor nothing but an endless loop takes between two beats, whatever all threads do."""
    return 60.0 + 2 * BEAT_SECONDS * (os.cpu_count() or 1)


class ReadWatch:
    """The watch of one process over the threads that read repositories.

    Args:
        root: the volume; processes of one volume share what they find.
        threads: how many there are.
    """

    def __init__(self, root: Path, *, threads: int) -> None:
        self._reads, self._suspects = root / "reads", root / "suspects"
        self._size = threads * _SLOT.size
        self._slots: mmap.mmap | None = None
        self._free = list(range(threads))
        self._began: dict[int, float] = {}
        self.suspects = frozenset[int]()
        """Repositories that were being read when a process was ended, and that git has not found sound since."""

    @contextlib.contextmanager
    def reading(self, repo_id: int) -> Iterator[None]:
        """Note that this thread reads a repository."""
        if self._slots is None or not self._free:
            yield
            return
        slot = self._free.pop()
        self._began[slot] = time.monotonic()
        _SLOT.pack_into(self._slots, slot * _SLOT.size, repo_id)
        try:
            yield
        finally:
            _SLOT.pack_into(self._slots, slot * _SLOT.size, 0)
            del self._began[slot]
            self._free.append(slot)

    async def run(self, most_seconds: float | None = None, every: float = BEAT_SECONDS) -> None:
        """Watch until this is cancelled; ``most_seconds`` are of the processor, between two beats."""
        with self._file() as file:
            self._slots = mmap.mmap(file.fileno(), self._size)
            file.seek(self._size)  # the traces come behind the slots
            was_enabled = faulthandler.is_enabled()
            faulthandler.enable(file, all_threads=True)
            faulthandler.register(signal.SIGPROF, file, all_threads=True, chain=True)
            collection = asyncio.create_task(
                self._collect_for_ever(every), name="repositories that are left alone"
            )
            try:
                while True:
                    signal.setitimer(signal.ITIMER_PROF, most_seconds or most_processor_seconds())
                    if any(
                        time.monotonic() - began > LONGEST_SECONDS for began in list(self._began.values())
                    ):
                        signal.raise_signal(signal.SIGPROF)
                    await asyncio.sleep(every)
            finally:
                collection.cancel()
                signal.setitimer(signal.ITIMER_PROF, 0)
                faulthandler.unregister(signal.SIGPROF)
                faulthandler.disable()
                if was_enabled:
                    faulthandler.enable()

    async def _collect_for_ever(self, every: float) -> None:
        """Apart from the beat, which may not wait for a thread."""
        while True:
            await asyncio.to_thread(self.collect)
            await asyncio.sleep(every)

    @contextlib.contextmanager
    def _file(self) -> Iterator[IO[bytes]]:
        """The file of this process. As long as it is locked, the process lives."""
        for folder in (self._reads, self._suspects):
            folder.mkdir(exist_ok=True)
        while True:
            descriptor, name = tempfile.mkstemp(dir=self._reads)
            with os.fdopen(descriptor, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not Path(name).exists():  # another process took it for one that was left
                    continue
                file.truncate(self._size)
                try:
                    yield file
                finally:
                    Path(name).unlink(missing_ok=True)
                return

    def collect(self) -> None:
        """Learn from the files of processes that ended what may not be read. Blocks for a moment."""
        for path in self._reads.iterdir():
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                content = file.read()
                slots, traces = content[: self._size], content[self._size :]
                path.unlink()
                whole = slots[: len(slots) // _SLOT.size * _SLOT.size]
                ids = sorted({repo_id for (repo_id,) in _SLOT.iter_unpack(whole) if repo_id})
                if traces:  # without them it ended for another reason
                    text = traces.decode(errors="replace")
                    log.error("a process ended in the middle of reads", repositories=ids, traces=text)
                    for repo_id in ids:
                        (self._suspects / str(repo_id)).touch()
        self.suspects = frozenset(int(path.name) for path in self._suspects.iterdir())

    def suspect(self, repo_id: int) -> None:
        """Let nobody read a repository."""
        self._suspects.mkdir(exist_ok=True)
        (self._suspects / str(repo_id)).touch()
        self.suspects |= {repo_id}

    def trust(self, repo_id: int) -> None:
        """Let it be read again, once git has found it sound, or when it was deleted."""
        (self._suspects / str(repo_id)).unlink(missing_ok=True)
        self.suspects -= {repo_id}
