"""A client of the renderer process, which parses long markdown texts.

The renderer is killed when a text exceeds its CPU time. So long texts never delay other requests of this
process. The first long text starts the renderer.
"""

import asyncio
import atexit
import re
from concurrent.futures import ThreadPoolExecutor

import msgspec

from ingot_chassis.cpu_process import CpuProcess, ProcessBusy
from ingot_chassis.errors import Unavailable
from ingot_issues.markdown.rules.rendering import LinkContext, plain_text
from ingot_issues.markdown.rules.work import MOST_WORK

INLINE = 2048
"""Characters of a text that is parsed in this process."""
RENDER_SECONDS = 0.6
"""Seconds of CPU time of one text, and of all rendered texts of one request."""
WAIT_SECONDS, MOST_WAITING = 2.0, 8
"""Seconds that a text may wait in the queue, and the length of the queue."""
WAIT_OF_WRITERS_SECONDS = 20.0
"""Seconds that a text to be stored waits for other texts."""
_FENCE = re.compile(r"```|~~~")


class Question(msgspec.Struct, array_like=True):
    """A text with its budget. ``html``: return HTML instead of plain text."""

    text: str
    seconds: float
    work: int
    html: bool = False
    context: LinkContext | None = None
    highlight_seconds: float = 0


class Answer(msgspec.Struct, array_like=True):
    """The answer of the renderer: a rendered text, the remaining budget, and the used CPU ``seconds``."""

    text: str
    reason: str
    lacks_colours: bool
    work: int
    highlight_seconds: float
    seconds: float


class Renderer(CpuProcess):
    """One renderer process, shared by all requests."""

    def __init__(self) -> None:
        super().__init__("ingot_issues.markdown.rules.renderer_process")
        self._threads = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="markdown")
        self._waiting = 0

    async def answer(self, question: Question, *, wait: float) -> Answer | None:
        """Return the answer, or None for a text that exceeded its CPU time. Raises ProcessBusy."""
        if self._waiting >= MOST_WAITING:
            raise ProcessBusy
        self._waiting += 1
        try:
            answer = await asyncio.get_running_loop().run_in_executor(
                self._threads, lambda: self.ask(msgspec.json.encode(question), wait=wait)
            )
        finally:
            self._waiting -= 1
        return msgspec.json.decode(answer, type=Answer) if answer else None


RENDERER = Renderer()
"""The renderer of this process."""
atexit.register(RENDERER.close)


def is_short(text: str) -> bool:
    """Return whether this process parses a text itself: it is short and has no code to highlight."""
    return len(text) <= INLINE and not _FENCE.search(text)


async def plain_text_of(text: str) -> str:
    """Return the plain text of markdown like ``rendering.plain_text``, for a text of any length.

    Raises Unavailable if the queue is full.
    """
    if is_short(text):
        return plain_text(text)
    question = Question(encodable(text), RENDER_SECONDS, MOST_WORK)
    try:
        answer = await RENDERER.answer(question, wait=WAIT_OF_WRITERS_SECONDS)
    except ProcessBusy as error:
        raise Unavailable("too many texts are being read; try again", retry_after=1) from error
    return answer.text if answer else ""


def encodable(text: str) -> str:
    """Return the text without lone surrogates, which cannot be encoded."""
    return text.encode(errors="replace").decode()
