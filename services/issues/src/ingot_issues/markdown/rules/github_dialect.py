"""Extensions of Markdown that GitHub has: alerts, and names of emoji.

https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ALERTS = ("note", "tip", "important", "warning", "caution")
_ALERT = re.compile(rf"\[!({'|'.join(ALERTS)})\][ \t]*(?:\n|$)", re.IGNORECASE)
_EMOJI = re.compile(r":([a-z0-9_+-]{1,40}):")


def add_alerts(parser: MarkdownIt) -> None:
    """Convert quotes that begin with a line such as ``[!NOTE]`` to alerts."""
    parser.core.ruler.before("inline", "ingot_alerts", _mark_alerts)


def with_emoji(text: str) -> str:
    """Replace names such as ``:tada:`` by characters. Unknown names are not replaced."""
    return _EMOJI.sub(lambda match: _emoji().get(match[1], match[0]), text) if ":" in text else text


def _mark_alerts(state: Any) -> None:
    marked: list[Token] = []
    tokens: list[Token] = state.tokens
    skipped = 0
    for index, token in enumerate(tokens):
        if skipped:
            skipped -= 1
            continue
        marked.append(token)
        if token.type != "blockquote_open" or token.level or tokens[index + 1].type != "paragraph_open":
            continue
        paragraph = tokens[index + 2]
        match = _ALERT.match(paragraph.content)
        if match is None:
            continue
        kind = match[1].lower()
        token.attrSet("class", f"markdown-alert markdown-alert-{kind}")
        marked += _title(kind.capitalize(), token.level + 1)
        paragraph.content = paragraph.content[match.end() :]
        if not paragraph.content:
            skipped = 3  # the paragraph, which has nothing else
    state.tokens = marked


def _title(text: str, level: int) -> list[Token]:
    return [
        Token("paragraph_open", "p", 1, attrs={"class": "markdown-alert-title"}, block=True, level=level),
        Token("inline", "", 0, content=text, children=[], block=True, level=level + 1),
        Token("paragraph_close", "p", -1, block=True, level=level),
    ]


@cache
def _emoji() -> dict[str, str]:
    """Return emoji characters by name, from a file with one emoji per line."""
    lines = Path(__file__).with_name("emoji.txt").read_text("utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)
