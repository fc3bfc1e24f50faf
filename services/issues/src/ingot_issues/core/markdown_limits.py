"""Bounds that keep the cost of markdown in proportion to its length: of nesting, open brackets, cells and open tags.

What is beyond a bound is shown as the text that it is.
"""

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MAX_QUOTES, MAX_LISTS = 6, 8
"""Of quotes and of lists inside each other. Each line is read once for each of them."""
MAX_LABELS = 8
"""Of brackets inside each other in the label of a link. Each bracket is read once for each of them."""
MAX_EMPTY_CELLS = 4096
"""Of all tables of a text: a row with fewer cells than the header is filled up."""
MAX_OPEN_TAGS = 100
"""Of HTML: the cost of a tag rises with the number of those around it."""
MAX_OPEN_STYLES = 12
"""Of HTML: browsers open these again in every block that follows."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_STYLES = re.compile(r"a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u", re.IGNORECASE)
_UNCOUNTED = re.compile(
    r"area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr"  # they hold nothing
    r"|p|li|dt|dd|option|tr|td|th|thead|tbody|tfoot",  # the next one ends them
    re.IGNORECASE,
)

InlineRule = Callable[[StateInline, bool], bool]
BlockRule = Callable[[StateBlock, int, int, bool], bool]


class OpenTags:
    """The tags of HTML that a text has opened so far and not closed."""

    def __init__(self) -> None:
        self._open = self._styles = 0

    def accepts(self, html: str) -> bool:
        """Whether ``html`` stays within the bounds; if so, its tags count as opened and closed."""
        open_tags, styles = self._open, self._styles
        for match in _TAG.finditer(html):
            change = -1 if match[1] else 1
            if _STYLES.fullmatch(match[2]):
                styles = max(styles + change, 0)
            elif not _UNCOUNTED.fullmatch(match[2]):
                open_tags = max(open_tags + change, 0)
            if open_tags > MAX_OPEN_TAGS or styles > MAX_OPEN_STYLES:
                return False
        self._open, self._styles = open_tags, styles
        return True


def limit_work(parser: MarkdownIt) -> None:
    """Put the bounds before the rules of the parser, which stay as they are."""
    inline = {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
    for name, opener in (("link", "["), ("image", "!["), ("footnote_inline", "^[")):
        parser.inline.ruler.at(name, _limited_label(inline[name], opener))
    block = {rule.name: rule for rule in parser.block.ruler.__rules__}
    for name, limited in (
        ("table", _limited_table),
        ("blockquote", _limited_nesting(MAX_QUOTES)),
        ("list", _limited_nesting(2 * MAX_LISTS)),
    ):
        rule = block[name]
        parser.block.ruler.at(name, limited(rule.fn), {"alt": rule.alt})


def _limited_label(rule: InlineRule, opener: str) -> InlineRule:
    """A bracket that nothing closes is text at once; beyond ``MAX_LABELS`` the labels around are text as well."""

    def limited(state: StateInline, silent: bool) -> bool:
        if not state.src.startswith(opener, state.pos) or state.html_terminator_last("]") <= state.pos:
            return False
        if silent and state.level > MAX_LABELS:
            state.pos = state.posMax
            return True
        return rule(state, silent)

    return limited


def _limited_nesting(max_level: int) -> Callable[[BlockRule], BlockRule]:
    def with_limit(rule: BlockRule) -> BlockRule:
        def limited(state: StateBlock, start: int, end: int, silent: bool) -> bool:
            return state.level < max_level and rule(state, start, end, silent)

        return limited

    return with_limit


def _limited_table(rule: BlockRule) -> BlockRule:
    def limited(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if not silent and start + 1 < end:
            empty = state.env.get("empty_cells", 0) + _empty_cells(state, start, end)
            if empty > MAX_EMPTY_CELLS:
                return False
            if not rule(state, start, end, silent):
                return False
            state.env["empty_cells"] = empty
            return True
        return rule(state, start, end, silent)

    return limited


def _empty_cells(state: StateBlock, start: int, end: int) -> int:
    """About how many cells would be filled up in a table that begins here; it stops counting at the bound."""
    delimiters = _line(state, start + 1)
    if not delimiters.startswith(("|", "-", ":")):
        return 0
    columns, empty = delimiters.count("-|") + 1, 0
    for line in range(start + 2, end):
        text = _line(state, line)
        if not text or empty > MAX_EMPTY_CELLS or columns < 4:
            break
        empty += max(columns - text.count("|") - 1, 0)
    return empty


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
