"""Code as lines of highlighted HTML.

Pygments tokenizes the code. This module writes and escapes the HTML.
"""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from markupsafe import Markup, escape
from pygments.token import (  # type: ignore[import-untyped]
    STANDARD_TYPES,
    Comment,
    Generic,
    Keyword,
    Literal,
    Name,
    Operator,
    String,
    Token,
)

from ingot_chassis.lexer import LEXER, LexerBusy

LARGEST = 200_000
"""Maximum characters of a highlighted file. A larger one is shown as plain text."""
SECONDS = 0.4
"""Seconds of CPU time for one text. The time of some lexers is quadratic in their input."""
REMEMBERED = 40
"""Number of files whose lines are cached, at most some 40 MB."""
_CLASSES = {
    Comment: "c", Keyword: "k", Operator.Word: "k", String: "s", Literal: "m",
    **dict.fromkeys((Name.Function, Name.Tag, Name.Attribute, Name.Decorator), "nf"),
    **dict.fromkeys((Name.Class, Name.Namespace, Name.Exception, Name.Builtin, Name.Constant, Name.Label),
                    "nc"),
    Generic.Inserted: "gi", Generic.Deleted: "gd", Generic.Heading: "gu", Generic.Subheading: "gu",
}  # fmt: skip
"""CSS classes by kind of token, which includes its subkinds.

Kinds of one colour share a class. Other kinds have no class.
"""
_TOKENS = {abbreviation: token for token, abbreviation in STANDARD_TYPES.items()}
Piece = tuple[str, str]
"""A CSS class, or an empty text for none, and the text that has it."""


def highlight(name: str, text: str) -> Sequence[Markup]:
    """Return the lines of a file, split as git splits them, highlighted for the language of its name."""
    text = text.replace("\r\n", "\n").replace("\r", " ")  # Pygments would begin a line there, git does not
    try:
        coloured = _coloured(name, text) if len(text) <= LARGEST else None
    except LexerBusy:
        coloured = None
    if coloured is not None:
        return coloured
    return [escape(line) for line in text.removesuffix("\n").split("\n") if text]


def code_rows(lines: Iterable[str]) -> Markup:
    """Return table rows, each with a line and its number, which has an anchor.

    Text is escaped.
    """
    rows = (
        f'<tr id="L{number}"><td class="number"><a href="#L{number}" aria-label="Line '
        f'{number}">{number}</a></td><td class="text">{escape(line)}</td></tr>'
        for number, line in enumerate(lines, 1)
    )
    return Markup("\n".join(rows))  # noqa: S704 - lines are escaped


@lru_cache(maxsize=REMEMBERED)
def _coloured(name: str, text: str) -> tuple[Markup, ...] | None:
    """Return the highlighted lines; None if they cannot be highlighted."""
    lines = pieces_of(name, text)
    if lines is None:
        return None
    coloured = [Markup(html_of(line)) for line in lines]  # noqa: S704 - escaped
    return tuple(coloured if coloured and lines[-1] else coloured[:-1])


def pieces_of(name: str, text: str, seconds: float = SECONDS) -> list[list[Piece]] | None:
    """Return the lines of a text as pieces with CSS classes.

    Return None if the language is unknown, the CPU time is used up or the lexer fails. The lexer also fails
    if its tokens differ from the text. Raises LexerBusy.
    """
    tokens = LEXER.tokens(text, file_name=name.rpartition("/")[2], seconds=seconds).tokens
    if tokens is None or "".join([part for _, part in tokens]) != text:
        return None
    line: list[Piece] = []
    lines = [line]
    for abbreviation, value in tokens:
        kind = _class_of(abbreviation)
        for number, part in enumerate(value.split("\n")):
            if number:
                line = []
                lines.append(line)
            if not part:
                continue
            if line and line[-1][0] == kind:
                line[-1] = (kind, line[-1][1] + part)
            else:
                line.append((kind, part))
    return lines


def html_of(pieces: Iterable[Piece]) -> str:
    """Return the pieces of a line as escaped HTML."""
    return "".join(
        [f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text) for kind, text in pieces]
    )


@cache
def _class_of(abbreviation: str) -> str:
    token: Any = _TOKENS[abbreviation]
    while token is not Token:
        if token in _CLASSES:
            return _CLASSES[token]
        token = token.parent
    return ""
