"""Rendered texts. HTML is cached while there is space.

HTML depends only on the text and its context. Rendering never checks if an issue or a person exists, or who
may see it. So no reader gets a link that was made for another reader. All texts of a request share one
budget, the short ones first, so a long text cannot displace them. A text without any budget left is shown as
plain text, and is rendered at its next request.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from ingot_chassis.cpu_process import ProcessBusy
from ingot_contracts.rendering import EXCERPT_CHARACTERS, FULL_PAGE, plain_html
from ingot_issues.markdown.rules import renderer_client
from ingot_issues.markdown.rules.html_cache import HtmlCache
from ingot_issues.markdown.rules.renderer_client import (
    RENDER_SECONDS,
    RENDERER,
    Question,
    encodable,
    is_short,
)
from ingot_issues.markdown.rules.rendering import (
    HIGHLIGHT_SECONDS,
    LARGEST,
    TOO_MUCH_MARKUP,
    Budget,
    LinkContext,
    RenderedText,
    rendered,
)
from ingot_issues.markdown.rules.work import MOST_WORK, Work

TEXT_BYTES = 8_000_000
MOST_CHARACTERS = 4 * LARGEST
"""Characters of all texts of a request together."""
SHORT_WORK = 100_000
"""Units of work of a request's short texts that this process renders. The renderer does the rest."""
TOO_LONG = f"it has more than {LARGEST:,} characters"
TOO_SLOW = "it took too long to render"
BUSY = "too many other texts are being rendered; reload the page"


class ShownText(NamedTuple):
    """HTML of a text. ``reason`` says why it is plain text; empty if it is rendered.

    ``stays``: True if rendering it again would give the same result, so it may be cached.
    """

    html: str
    reason: str = ""
    stays: bool = True


class RequestBudget:
    """The remaining budget of a request.

    ``share`` (of rendering) and ``colours`` (of highlighting) are fractions from 0 to 1.
    """

    def __init__(self, share: float = 1, colours: float = 1) -> None:
        self.cost = Budget(Work(int(MOST_WORK * share)), HIGHLIGHT_SECONDS * colours)
        self.seconds = RENDER_SECONDS * share
        self.characters = MOST_CHARACTERS
        self.is_busy = False

    @property
    def is_whole(self) -> bool:
        return self.cost.work.left == MOST_WORK and self.seconds == RENDER_SECONDS

    @property
    def share(self) -> float:
        return max(min(self.cost.work.left / MOST_WORK, self.seconds / RENDER_SECONDS), 0)

    @property
    def colours(self) -> float:
        return max(self.cost.highlight_seconds / HIGHLIGHT_SECONDS, 0)


class RenderedTexts:
    """A renderer of texts to HTML, with a cache."""

    def __init__(self, *, text_bytes: int = TEXT_BYTES) -> None:
        self._texts = HtmlCache(text_bytes)

    async def html(self, text: str, context: LinkContext | None) -> ShownText:
        """Return one text as HTML."""
        (shown,) = await self.page([text], context, RequestBudget())
        return shown

    async def page(
        self, texts: Sequence[str], context: LinkContext | None, budget: RequestBudget
    ) -> list[ShownText]:
        """Return all texts of a request as HTML, within one budget."""
        shown = {
            text: ShownText(html) for text in texts if (html := self._texts.get(text, context)) is not None
        }
        for text in sorted({*texts} - {*shown}, key=lambda text: (len(text), text)):
            shown[text] = await self._shown(text, context, budget)
            if shown[text].stays:
                self._texts.put(shown[text].html, text, context)
        return [shown[text] for text in texts]

    async def _shown(self, text: str, context: LinkContext | None, budget: RequestBudget) -> ShownText:
        if len(text) > LARGEST:
            return ShownText(plain_html(text, TOO_LONG), TOO_LONG)
        budget.characters -= len(text)
        if budget.is_busy or budget.share <= 0 or budget.characters < 0:
            return _excerpt(text, BUSY if budget.is_busy else FULL_PAGE)
        is_whole = budget.is_whole
        if is_short(text) and budget.cost.work.left > MOST_WORK - SHORT_WORK:
            await asyncio.sleep(0)  # let other requests run in between
            rendering = rendered(text, context, None, budget.cost)
        else:
            try:
                rendering = await _rendered_in_process(text, context, budget)
            except ProcessBusy:
                budget.is_busy = True
                return _excerpt(text, BUSY)
        if rendering.reason in (TOO_MUCH_MARKUP, TOO_SLOW) and not is_whole:
            return _excerpt(text, FULL_PAGE)
        return ShownText(rendering.html, rendering.reason, stays=is_whole or not rendering.lacks_colours)


async def _rendered_in_process(text: str, context: LinkContext | None, budget: RequestBudget) -> RenderedText:
    """Render a text in the renderer process. Raises ProcessBusy."""
    cost = budget.cost
    question = Question(
        encodable(text), budget.seconds, cost.work.left, True, context, cost.highlight_seconds
    )
    answer = await RENDERER.answer(question, wait=renderer_client.WAIT_SECONDS)
    if answer is None:
        budget.seconds = 0
        return RenderedText(plain_html(text, TOO_SLOW), TOO_SLOW)
    budget.seconds -= answer.seconds
    cost.work.left, cost.highlight_seconds = answer.work, answer.highlight_seconds
    return RenderedText(answer.text, answer.reason, answer.lacks_colours)


def _excerpt(text: str, reason: str) -> ShownText:
    return ShownText(plain_html(text, reason, EXCERPT_CHARACTERS), reason, stays=False)
