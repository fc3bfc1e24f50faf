"""Files as lines of coloured HTML. What Pygments makes is escaped by it; what it cannot read is escaped here."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

LARGEST = 200_000
"""Characters of a file that is coloured; a larger one is shown plain."""
SECONDS = 0.4
"""CPU time for one file. Some lexers need time that grows with the square of their input."""
REMEMBERED = 40
"""Files whose lines are kept for the next reader, at most some 40 MB."""
_FORMATTER = HtmlFormatter(nowrap=True)


class _OutOfTime(Exception):
    """The time for one file is used up."""


def highlight(name: str, text: str) -> Sequence[Markup]:
    """The lines of a file as git counts them, coloured by the language that its name says."""
    text = text.replace("\r\n", "\n").replace("\r", " ")  # Pygments would begin a line there, git does not
    coloured = _coloured(name, text) if len(text) <= LARGEST else None
    if coloured is not None:
        return coloured
    return [escape(line) for line in text.removesuffix("\n").split("\n") if text]


def code_rows(lines: Iterable[str]) -> Markup:
    """Rows of a table: the number of each line, to which an address can lead, and the line. Text is escaped."""
    rows = (
        f'<tr id="L{number}"><td class="number"><a href="#L{number}" aria-label="Line {number}">{number}</a></td>'
        f'<td class="text">{escape(line)}</td></tr>'
        for number, line in enumerate(lines, 1)
    )
    return Markup("\n".join(rows))  # noqa: S704 - lines are escaped


@lru_cache(maxsize=REMEMBERED)
def _coloured(name: str, text: str) -> tuple[Markup, ...] | None:
    """None if the language is unknown, or the time is over."""
    try:
        lexer = get_lexer_for_filename(name, stripnl=False, ensurenl=False)
        tokens = _within(time.thread_time() + SECONDS, lexer.get_tokens(text))
        return tuple(Markup(line) for line in _lines(tokens))  # noqa: S704 - Pygments escapes
    except (ClassNotFound, _OutOfTime):
        return None


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
