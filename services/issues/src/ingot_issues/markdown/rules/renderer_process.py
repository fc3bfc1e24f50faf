"""A process that renders markdown texts. ``renderer_client`` starts it by ``python -m``."""

import time

import msgspec

from ingot_chassis.cpu_process import answer_questions, deadline
from ingot_issues.markdown.rules.html_cache import HtmlCache
from ingot_issues.markdown.rules.renderer_client import Answer, Question
from ingot_issues.markdown.rules.rendering import Budget, RenderedText, plain_text, rendered
from ingot_issues.markdown.rules.work import Work

BLOCK_BYTES = 2_000_000
"""Bytes of the cached HTML of code blocks, which texts share."""


def main() -> None:
    """Answer requests until standard input is closed."""
    blocks = HtmlCache(BLOCK_BYTES)
    answer_questions(lambda content: _answer(content, blocks))


def _answer(content: bytes, blocks: HtmlCache) -> bytes:
    question, begun = msgspec.json.decode(content, type=Question), time.process_time()
    budget = Budget(Work(question.work), question.highlight_seconds)
    with deadline(question.seconds):
        if question.html:
            rendering = rendered(question.text, question.context, blocks, budget)
        else:
            rendering = RenderedText(plain_text(question.text, budget.work))
    seconds = time.process_time() - begun
    return msgspec.json.encode(Answer(*rendering, budget.work.left, budget.highlight_seconds, seconds))


if __name__ == "__main__":
    main()
