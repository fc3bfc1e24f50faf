"""Files as lines of coloured HTML. What Pygments makes is escaped by it; what it cannot read is escaped here."""

import time
from collections.abc import Iterator
from html import escape
from typing import Any

from markupsafe import Markup
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

LARGEST = 200_000
"""Characters of a file that is coloured; a larger one is shown plain."""
SECONDS = 0.4
"""CPU time for one file. Some lexers need time that grows with the square of their input."""
_FORMATTER = HtmlFormatter(nowrap=True)


class _OutOfTime(Exception):
    """The time for one file is used up."""


def highlight(name: str, text: str) -> list[Markup]:
    """The lines of a file, coloured by the language that its name says."""
    if len(text) <= LARGEST:
        try:
            lexer = get_lexer_for_filename(name, stripnl=False, ensurenl=False)
            tokens = _within(time.thread_time() + SECONDS, lexer.get_tokens(text))
            return [Markup(line) for line in _lines(tokens)]  # noqa: S704 - Pygments escapes
        except (ClassNotFound, _OutOfTime):
            pass
    return [Markup(escape(line)) for line in text.splitlines()]  # noqa: S704 - escaped


def _within(moment: float, tokens: Any) -> Iterator[Any]:
    for token in tokens:
        if time.thread_time() > moment:
            raise _OutOfTime
        yield token


def _lines(tokens: Any) -> list[str]:
    from io import StringIO

    out = StringIO()
    _FORMATTER.format(tokens, out)
    lines = out.getvalue().split("\n")
    return lines[:-1] if lines and not lines[-1] else lines
