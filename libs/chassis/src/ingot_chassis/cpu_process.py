"""A subprocess for work on hostile input.

``CpuProcess`` is the parent's side. It restarts a dead process at the next request. ``answer_questions`` is
the main function of the subprocess. Its ``answer`` must use ``deadline``, which kills the process when a
request exceeds its CPU time.
"""

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import IO, BinaryIO

LENGTH_BYTES = 4
"""Bytes of the length before each request and response."""
MOST_MEMORY = 1 << 30
"""Bytes of address space of the process."""


class ProcessBusy(Exception):
    """Other requests keep the process busy."""


class CpuProcess:
    """One process ``python -m module``, shared by all threads. The first request starts it."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: bytes, *, wait: float) -> bytes | None:
        """Return the response, or None if the process died. Blocks.

        Waits at most ``wait`` seconds for other requests. Raises ProcessBusy.
        """
        if not self._lock.acquire(timeout=wait):
            raise ProcessBusy
        try:
            return self._ask(question)
        finally:
            self._lock.release()

    def _ask(self, question: bytes) -> bytes | None:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = self._start()
        write, read = _pipes(self._process)
        try:
            write.write(len(question).to_bytes(LENGTH_BYTES) + question)
            write.flush()
            size = int.from_bytes(read.read(LENGTH_BYTES))
            answer = read.read(size)
        except BrokenPipeError:
            answer = b""
        if answer and len(answer) == size:
            return answer
        self.close()
        return None

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={},  # it reads hostile texts, so it gets no settings of the service
        )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise TypeError("the process has pipes")
    return process.stdin, process.stdout


def answer_questions(answer: Callable[[bytes], bytes]) -> None:
    """Answer requests on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends SIGINT to all processes at once
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while question := _read(questions):
        content = answer(question)
        answers.write(len(content).to_bytes(LENGTH_BYTES) + content)
        answers.flush()


def _read(stream: BinaryIO) -> bytes:
    size = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(size)) if size else b""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Kill this process if the block exceeds its CPU time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
