"""Components of markdown."""

from dataclasses import dataclass, field

from ingot_chassis.http.concurrency import ConcurrencyQueue
from ingot_issues.markdown.rules.rendered_texts import RenderedTexts

MARKDOWN_AT_ONCE = 2
"""Texts of a caller that are rendered in parallel. Callers take turns."""
MARKDOWN_WAITING = 14
"""Texts of a caller that may wait to be rendered. Further texts are rejected."""


@dataclass(frozen=True)
class MarkdownComponents:
    """The cache of rendered texts, and the queue of texts to render."""

    rendered_texts: RenderedTexts = field(default_factory=RenderedTexts)
    queue: ConcurrencyQueue = field(
        default_factory=lambda: ConcurrencyQueue(MARKDOWN_AT_ONCE, waiting=MARKDOWN_WAITING)
    )
