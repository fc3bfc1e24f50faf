"""Tokenizes code with Pygments in a separate process with a limit of CPU time.

The process starts with the first text. It restarts after a text that took too long; such a text gets no
tokens.
"""

import atexit

import msgspec

from ingot_chassis.cpu_process import CpuProcess, ProcessBusy

WAIT_SECONDS = 2.0
"""Seconds that a text waits for earlier texts."""


class Question(msgspec.Struct, array_like=True):
    """A text with its ``language``, or with a ``file_name`` to detect it. ``seconds`` limits CPU time."""

    text: str
    language: str
    file_name: str
    seconds: float


class Answer(msgspec.Struct, array_like=True):
    """Token types and texts. The types are Pygments' abbreviations in CSS classes.

    ``tokens`` is None if the text could not be tokenized. ``seconds`` is the used CPU time, which includes
    the time to load the lexer.
    """

    tokens: list[tuple[str, str]] | None
    seconds: float


class LexerBusy(Exception):
    """Other texts keep the process busy."""


class Lexer(CpuProcess):
    """One lexer process for all threads of this process."""

    def __init__(self) -> None:
        super().__init__("ingot_chassis.lexer_process")

    def tokens(self, text: str, *, language: str = "", file_name: str = "", seconds: float) -> Answer:
        """Tokenize a text. Blocks while the process starts, and while it tokenizes this text.

        Args:
            text: the code.
            language: one of Pygments' short names.
            file_name: the name of a file without folders, in place of a language.
            seconds: the limit of CPU time.

        Raises LexerBusy if other texts keep the process busy for ``WAIT_SECONDS``. Returns no tokens for an
        unknown language, a failing lexer, and a text that takes too long.
        """
        if seconds <= 0:
            return Answer(None, 0)
        question = msgspec.json.encode(
            Question(text.encode(errors="replace").decode(), language, file_name, seconds)
        )
        try:
            answer = self.ask(question, wait=WAIT_SECONDS)
        except ProcessBusy as error:
            raise LexerBusy from error
        return msgspec.json.decode(answer, type=Answer) if answer else Answer(None, seconds)


LEXER = Lexer()
"""The lexer that all parts of a process share."""
atexit.register(LEXER.close)
