"""The lexer of a process while a text holds it up."""

import asyncio
import threading

import pytest

from ingot_chassis import lexer
from ingot_chassis.lexer import LEXER, Answer

_MOST_SECONDS = 60.0


class SlowLexer:
    """Keeps the answers of the lexer until `release`; before, it works on each text as it does, for as long as it may.

    Texts behind the first one do not wait for it: they have no colours.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._loop, self._ask = asyncio.get_running_loop(), LEXER._ask  # noqa: SLF001 - where it talks to its process
        self._begun, self._released = asyncio.Event(), threading.Event()
        monkeypatch.setattr(LEXER, "_ask", self._ask_and_wait)
        monkeypatch.setattr(lexer, "WAIT_SECONDS", 0.01)

    async def begun(self) -> None:
        """Return once a text is being worked on."""
        async with asyncio.timeout(_MOST_SECONDS):
            await self._begun.wait()

    def release(self) -> None:
        """Give the answers, from now on at once."""
        self._released.set()

    def _ask_and_wait(self, question: bytes) -> Answer | None:
        self._loop.call_soon_threadsafe(self._begun.set)
        answer = self._ask(question)
        if not self._released.wait(_MOST_SECONDS):
            raise TimeoutError("nobody was served meanwhile")
        return answer
