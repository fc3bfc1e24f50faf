"""Ends the process when libgit2 hangs on a repository, and blocks reads until git has checked it.

libgit2 up to 1.9.7 loops forever on some damaged objects. Usually it holds the interpreter lock, so no Python
code runs. So a kernel timer counts the CPU time since the event loop last ran. When the timer expires, the
traces of all threads are written to a file and the process ends. A crash, for example on a damaged pack
index, writes the same traces.

The file also records which thread reads which repository. Another process, or the next process, evaluates the
file. The traces mark the thread that was running.

A thread may read a second repository for the first, for example a parent for its fork. The repository that
the thread began to read last is suspected first. If git finds no damage in this repository, the other is
suspected.
"""

import asyncio
import contextlib
import faulthandler
import fcntl
import math
import mmap
import os
import re
import signal
import struct
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import structlog

log = structlog.get_logger()

BEAT_SECONDS = 5.0
LONGEST_SECONDS = 900.0
"""Limit for a read that lets other threads work."""
_SLOT = struct.Struct("qQd")
"""A record in the file: the id of the repository, the thread that reads it, and the start time."""
_FILE_NAME = re.compile(r"([0-9]{1,9})-")
"""Bytes of slots in the file. Processes of one volume may differ, for example while settings change."""
_CURRENT = re.compile(rb"^Current thread 0x([0-9a-f]+)", re.MULTILINE)
_DAMAGED = b"damaged"
_STDERR = 2


@dataclass(slots=True)
class _Read:
    """A running read. ``outer`` is the earlier running read of the same thread, or None.

    ``began`` is its start by `time.monotonic`, and ``time`` its start since the epoch, both in seconds.
    """

    repo_id: int
    outer: "_Read | None"
    began: float
    time: float
    is_suspect: bool = False

    @property
    def others(self) -> list[int]:
        """Return the other repositories that the same thread is reading, the last one first."""
        return [] if self.outer is None else [self.outer.repo_id, *self.outer.others]


def most_processor_seconds() -> float:
    """Return the CPU seconds of all threads between two beats that only an endless loop can use."""
    return 60.0 + 2 * BEAT_SECONDS * (os.cpu_count() or 1)


class ReadWatch:
    """Watches the threads of one process that read repositories.

    Args:
        root: the volume; processes of one volume share their findings.
        reads: the maximum number of concurrent reads; a thread may read two repositories.
    """

    def __init__(self, root: Path, *, reads: int) -> None:
        self._files, self._suspects = root / "reads", root / "suspects"
        for folder in (self._files, self._suspects):
            folder.mkdir(parents=True, exist_ok=True)
        self._size = reads * _SLOT.size
        self._slots: mmap.mmap | None = None
        self._free = list(range(reads))
        self._reads: dict[int, _Read] = {}
        self._local = threading.local()
        self.suspects = frozenset[int]()
        """Repositories that may have blocked or killed a process, and that git has not checked since."""
        self.damaged = frozenset[int]()
        """Suspects in which git found damage."""

    @contextlib.contextmanager
    def reading(self, repo_id: int) -> Iterator[None]:
        """Record that this thread reads a repository inside the block.

        Nothing is recorded while the watch does not run, or if more reads run than it has slots.
        """
        if self._slots is None or not self._free:
            yield
            return
        slot = self._free.pop()
        outer: _Read | None = getattr(self._local, "read", None)
        read = _Read(repo_id, outer, time.monotonic(), time.time())
        if outer is not None:
            # The file orders reads by time only, and a clock may stand still or go back.
            read.time = max(read.time, math.nextafter(outer.time, math.inf))
        self._reads[slot] = self._local.read = read
        _SLOT.pack_into(self._slots, slot * _SLOT.size, repo_id, threading.get_ident(), read.time)
        try:
            yield
        finally:
            self._local.read = outer
            _SLOT.pack_into(self._slots, slot * _SLOT.size, 0, 0, 0.0)
            del self._reads[slot]
            self._free.append(slot)

    async def run(self, most_seconds: float | None = None, every: float = BEAT_SECONDS) -> None:
        """Watch until cancelled. ``most_seconds`` is the limit of CPU time between two beats.

        ``every`` is the time between two beats in seconds. Raises OSError if the volume is full: then reads
        continue without the watch until it is started again.
        """
        with self._file() as file:
            self._slots = mmap.mmap(file.fileno(), self._size)
            was_enabled = faulthandler.is_enabled()
            faulthandler.enable(file, all_threads=True)
            faulthandler.register(signal.SIGPROF, file, all_threads=True, chain=True)
            try:
                while True:
                    signal.setitimer(signal.ITIMER_PROF, most_seconds or most_processor_seconds())
                    await asyncio.sleep(every)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                faulthandler.unregister(signal.SIGPROF)
                faulthandler.disable()
                if was_enabled:
                    faulthandler.enable(_STDERR)

    async def collect_for_ever(self, every: float = BEAT_SECONDS) -> None:
        """Run `collect` every ``every`` seconds, separate from the beat, which must not wait for a thread."""
        while True:
            await asyncio.to_thread(self.collect)
            await asyncio.sleep(every)

    @contextlib.contextmanager
    def _file(self) -> Iterator[IO[bytes]]:
        """Create the locked file of this process: first its slots, then its traces.

        The lock shows that the process is running.
        """
        while True:
            descriptor, name = tempfile.mkstemp(prefix=f"{self._size}-", dir=self._files)
            with os.fdopen(descriptor, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if not Path(name).exists():  # another process removed it as stale
                    continue
                try:
                    # Not a sparse file: on a full volume a write to the memory map would kill the process.
                    file.write(bytes(self._size))
                    file.flush()
                    os.fsync(file.fileno())
                    yield file
                finally:
                    Path(name).unlink(missing_ok=True)
                return

    def collect(self) -> None:
        """Collect suspects from the files of dead processes and from reads that hang. Blocks for a moment."""
        for path in self._files.iterdir():
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                content, ended = file.read(), os.fstat(file.fileno()).st_mtime
                match = _FILE_NAME.match(path.name)
                size = int(match[1]) if match else self._size  # an earlier release wrote no size
                slots, traces = content[:size], content[size:]
                if traces:  # without traces it ended for another reason
                    culprits = _culprits(slots, traces, ended)
                    for repo_id, others in culprits.items():
                        self.suspect(repo_id, others=others)
                    text = traces.decode(errors="replace")
                    log.error(
                        "a process ended in the middle of reads", repositories=sorted(culprits), traces=text
                    )
                path.unlink()
        self._suspect_long_reads()
        notes = {}
        for path in self._suspects.iterdir():
            if path.name.isdecimal():
                with contextlib.suppress(FileNotFoundError):
                    notes[int(path.name)] = path.read_bytes()
        self.suspects = frozenset(notes)
        self.damaged = frozenset(repo_id for repo_id, note in notes.items() if note == _DAMAGED)

    def _suspect_long_reads(self) -> None:
        """Suspect each long read once. The disk may only be slow, so no thread is stopped."""
        reads = list(self._reads.values())
        outer = {id(read.outer) for read in reads}
        for read in reads:
            is_long = time.monotonic() - read.began > LONGEST_SECONDS
            if is_long and not read.is_suspect and id(read) not in outer:
                self.suspect(read.repo_id, others=read.others)
                read.is_suspect = True
                log.error("a read does not end", repository=read.repo_id, seconds=LONGEST_SECONDS)

    def suspect(self, repo_id: int, *, is_damaged: bool = False, others: Sequence[int] = ()) -> None:
        """Block reads of a repository. ``is_damaged``: git has already found damage.

        If git finds no damage, the first of ``others`` is blocked next, and so on.
        """
        note = b" ".join(b"%d" % other for other in others)
        (self._suspects / str(repo_id)).write_bytes(_DAMAGED if is_damaged else note)
        self.suspects |= {repo_id}
        self.damaged = self.damaged | {repo_id} if is_damaged else self.damaged - {repo_id}

    def trust(self, repo_id: int, *, is_sound: bool = False) -> None:
        """Allow reads again, after a deletion, a replacement, or a check by git (``is_sound``).

        With ``is_sound``, the first of the ``others`` of `suspect` is blocked instead, if there are any.
        """
        file = self._suspects / str(repo_id)
        if is_sound:
            with contextlib.suppress(FileNotFoundError):
                others = [int(word) for word in file.read_bytes().split() if word.isdigit()]
                if others:
                    self.suspect(others[0], others=others[1:])
        file.unlink(missing_ok=True)
        self.suspects -= {repo_id}
        self.damaged -= {repo_id}


def _culprits(slots: bytes, traces: bytes, ended: float) -> dict[int, list[int]]:
    """Return the repositories of the thread that ran last, which may have caused the end of the process.

    If this thread is unknown, return all reads that are longer than a beat. If a thread reads several
    repositories, the last one is the key. The others are its value, the last one first.
    """
    whole = slots[: len(slots) // _SLOT.size * _SLOT.size]
    by_thread: dict[int, list[tuple[float, int]]] = {}
    for repo_id, thread, began in _SLOT.iter_unpack(whole):
        if repo_id:
            by_thread.setdefault(thread, []).append((began, repo_id))
    current = _CURRENT.search(traces)
    last = by_thread.get(int(current[1], 16)) if current else None
    long = [reads for reads in by_thread.values() if ended - min(reads)[0] > BEAT_SECONDS]
    culprits = {}
    for reads in [last] if last is not None else long:
        repo_id, *others = [repo_id for _, repo_id in sorted(reads, reverse=True)]
        culprits[repo_id] = others
    return culprits
