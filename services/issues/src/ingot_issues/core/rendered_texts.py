"""Texts that are rendered, each once as long as there is room for its HTML.

HTML depends on the text and its context alone: rendering never asks whether an issue or a person is there, or who may see
it. So nobody gets a link that was made for somebody else. What used up its time stays plain as long as it is here; what others
took the time of is rendered again.
"""

from functools import partial

from ingot_issues.core.html_cache import HtmlCache
from ingot_issues.core.markdown import LinkContext, rendered, run_without_blocking

TEXT_BYTES = 8_000_000
BLOCK_BYTES = 2_000_000


class RenderedTexts:
    """The HTML of texts, and of the blocks of code that texts share."""

    def __init__(self, *, text_bytes: int = TEXT_BYTES, block_bytes: int = BLOCK_BYTES) -> None:
        self._texts, self._blocks = HtmlCache(text_bytes), HtmlCache(block_bytes)

    async def html(self, text: str, context: LinkContext | None) -> tuple[str, bool]:
        """As ``markdown.rendered``, without blocking the event loop."""
        remembered = self._texts.get(text, context)
        if remembered is not None:
            return remembered, True
        html, stays = await run_without_blocking(
            partial(rendered, context=context, blocks=self._blocks), text
        )
        if stays:
            self._texts.put(html, text, context)
        return html, stays
