"""The text of an HTML mail. Each character is examined a bounded number of times, and no tree is built.

A tree of hostile HTML can take time that grows with the square of its length.
"""

import html
import re

_TAG = re.compile(r"<(?:!--|[!?]|(/?)([a-zA-Z][^\s/>]*))")
_TAG_END = re.compile(r"""=\s*"[^"]*"|=\s*'[^']*'|>""")
_SPACE = re.compile(r"\s+")
_BLOCKS = frozenset(("p", "div", "li", "tr", "pre", "blockquote", *(f"h{level}" for level in range(1, 7))))
_RAW_ENDS = {
    name: re.compile(f"</{name}", re.IGNORECASE | re.ASCII)
    for name in ("script", "style", "title", "textarea", "template")
}


class _Lines:
    """The lines of the text. Nothing is added within a quote."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.quotes = 0
        self._line: list[str] = []

    def add(self, text: str) -> None:
        if text and not self.quotes:
            self._line.append(text)

    def end_line(self, *, only_filled: bool = False) -> None:
        if self.quotes:
            return
        line = _SPACE.sub(" ", "".join(self._line)).strip()
        self._line.clear()
        if line or not only_filled:
            self.lines.append(html.unescape(line))


def text_of_html(content: str) -> tuple[str, bool]:
    """Return the text, and True if the content ends within a quote.

    Quotes, scripts and styles are dropped with their content.
    """
    lines = _Lines()
    place, end = 0, len(content)
    while (tag := _TAG.search(content, place)) is not None:
        lines.add(content[place : tag.start()])
        place = _after(content, tag)
        name = (tag[2] or "").lower()
        if name in _RAW_ENDS and not tag[1]:
            raw_end = _RAW_ENDS[name].search(content, place)
            place = raw_end.start() if raw_end else end
        _break_line(lines, name, is_end=bool(tag[1]))
    lines.add(content[place:])
    is_quoted, lines.quotes = lines.quotes > 0, 0
    lines.end_line()
    return "\n".join(lines.lines), is_quoted


def _break_line(lines: _Lines, name: str, *, is_end: bool) -> None:
    if name == "br":
        lines.end_line()
    elif name in _BLOCKS:
        # The start of a block ends a line of text, and its end always does.
        lines.end_line(only_filled=not is_end or name == "blockquote")
    if name == "blockquote":
        lines.quotes = max(lines.quotes - 1, 0) if is_end else lines.quotes + 1


def _after(content: str, tag: re.Match[str]) -> int:
    """Return the place after the tag or comment; the end of the content if it is not closed."""
    if tag[0] == "<!--":
        end = content.find("-->", tag.end())
        return end + 3 if end >= 0 else len(content)
    place = tag.end()
    while (end_or_value := _TAG_END.search(content, place)) is not None:
        place = end_or_value.end()
        if end_or_value[0] == ">":
            return place
    return len(content)
