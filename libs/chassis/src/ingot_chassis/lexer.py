"""Code as tokens, told apart by Pygments in a process of its own, which costs at most the CPU time that a caller gives.

The process starts with the first text, and anew after a text that took too long: that text has no tokens.
"""

import atexit
import subprocess
import sys
from threading import Lock
from typing import IO

import msgspec

LENGTH_BYTES = 4
"""Before each question and answer."""
WAIT_SECONDS = 2.0
"""How long a text waits for those before it."""


class Question(msgspec.Struct, array_like=True):
    """A text of a ``language``, or of the one that a ``file_name`` says; ``seconds`` of CPU that it may take."""

    text: str
    language: str
    file_name: str
    seconds: float


class Answer(msgspec.Struct, array_like=True):
    """Kinds, as Pygments abbreviates them in CSS classes, with what is of that kind; None if there are no tokens.

    ``seconds`` of CPU were used.
    """

    tokens: list[tuple[str, str]] | None
    seconds: float


class LexerBusy(Exception):
    """Other texts take all the time."""


class Lexer:
    """One process for all threads of this one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def tokens(self, text: str, *, language: str = "", file_name: str = "", seconds: float) -> Answer:
        """Blocks, for some ``seconds`` at most, and while a process starts.

        Args:
            text: the code.
            language: one of Pygments' short names.
            file_name: instead of it, the name of a file without folders.
            seconds: of CPU time.

        Raises LexerBusy. No tokens for an unknown language, a failing lexer, and a text that takes too long.
        """
        if seconds <= 0:
            return Answer(None, 0)
        question = msgspec.json.encode(
            Question(text.encode(errors="replace").decode(), language, file_name, seconds)
        )
        if not self._lock.acquire(timeout=WAIT_SECONDS):
            raise LexerBusy
        try:
            return self._ask(question) or Answer(None, seconds)
        finally:
            self._lock.release()

    def _ask(self, question: bytes) -> Answer | None:
        """None when the process has ended instead of answering."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = _start()
        write, read = _pipes(self._process)
        try:
            write.write(len(question).to_bytes(LENGTH_BYTES) + question)
            write.flush()
            size = int.from_bytes(read.read(LENGTH_BYTES))
            answer = read.read(size)
        except BrokenPipeError:
            answer = b""
        if answer:
            return msgspec.json.decode(answer, type=Answer)
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _start() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "ingot_chassis.lexer_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={},  # it reads hostile texts, so it knows no setting of the service
    )


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise TypeError("the process has pipes")
    return process.stdin, process.stdout


LEXER = Lexer()
"""What all parts of a process share."""
atexit.register(LEXER.close)
