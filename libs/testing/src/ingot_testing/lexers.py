"""A process for hostile input that one request occupies."""

import asyncio
import threading

import pytest

from ingot_chassis import lexer
from ingot_chassis.cpu_process import CpuProcess
from ingot_chassis.lexer import LEXER

_MOST_SECONDS = 60.0


class SlowProcess:
    """Delays responses of ``process`` until `release`, so it seems busy with each request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, process: CpuProcess) -> None:
        self._loop = asyncio.get_running_loop()
        self._ask = process._ask  # noqa: SLF001 - the method that talks to the process
        self._begun, self._released = asyncio.Event(), threading.Event()
        monkeypatch.setattr(process, "_ask", self._ask_and_wait)

    async def begun(self) -> None:
        """Wait until a text is being processed."""
        async with asyncio.timeout(_MOST_SECONDS):
            await self._begun.wait()

    def release(self) -> None:
        """Send the delayed responses. Later responses are sent at once."""
        self._released.set()

    def _ask_and_wait(self, question: bytes) -> bytes | None:
        self._loop.call_soon_threadsafe(self._begun.set)
        answer = self._ask(question)
        if not self._released.wait(_MOST_SECONDS):
            raise TimeoutError("no text was processed in this time")
        return answer


class SlowLexer(SlowProcess):
    """A slow lexer. Later texts do not wait for the first text, and are not highlighted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch, LEXER)
        monkeypatch.setattr(lexer, "WAIT_SECONDS", 0.01)
