"""Limits of nesting, open brackets, cells and open tags, so the cost of markdown is linear in its length.

Constructs beyond a limit are shown as plain text.
"""

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from ingot_issues.markdown.rules.work import work_of

MAX_QUOTES, MAX_LISTS = 6, 8
"""Depth of nested quotes, and of nested lists. Each line is read once for each of them."""
MAX_LABELS = 8
"""Depth of nested brackets in the label of a link. Each bracket is read once for each of them."""
MAX_EMPTY_CELLS = 4096
"""Cells of all tables of a text that are added to rows with fewer cells than the header."""
MAX_FOOTNOTES = 500
"""Footnote marks of a text. Each takes 230 bytes, and many more as HTML."""
MAX_FOOTNOTE_LABEL = 200
"""Characters of the name of a footnote."""
BRACKET, FOOTNOTE, AUTOLINK = 20, 24, 24
"""Units of work of a bracket that may begin a link, a footnote mark, and an autolink."""
MAX_OPEN_TAGS = 100
"""Open HTML tags. The cost of a tag grows with the number of enclosing tags."""
MAX_OPEN_STYLES = 12
"""Open HTML tags of styles. Browsers reopen them in every following block."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_STYLES = re.compile(r"a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u", re.IGNORECASE)
_UNCOUNTED = re.compile(
    r"area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr"  # void elements
    r"|p|li|dt|dd|option|tr|td|th|thead|tbody|tfoot",  # the next one closes them
    re.IGNORECASE,
)

InlineRule = Callable[[StateInline, bool], bool]
BlockRule = Callable[[StateBlock, int, int, bool], bool]


class OpenTags:
    """The HTML tags of a text that are still open."""

    def __init__(self) -> None:
        self._open = self._styles = 0

    def accepts(self, html: str) -> bool:
        """Return whether ``html`` is within the limits. If so, its tags are counted."""
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
    """Wrap the rules of the parser with limits."""
    inline = {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
    for name, opener in (("link", "["), ("image", "!["), ("footnote_inline", "^[")):
        parser.inline.ruler.at(name, _limited_label(inline[name], opener))
    inline |= {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
    parser.inline.ruler.at("footnote_inline", _limited_footnote(inline["footnote_inline"]))
    parser.inline.ruler.at("footnote_ref", _limited_footnote(_limited_reference(inline["footnote_ref"])))
    parser.inline.ruler.at("autolink", _costly(inline["autolink"], "<", AUTOLINK))
    block = {rule.name: rule for rule in parser.block.ruler.__rules__}
    for name, limited in (
        ("table", _limited_table),
        ("blockquote", _limited_nesting(MAX_QUOTES)),
        ("list", _limited_nesting(2 * MAX_LISTS)),
    ):
        rule = block[name]
        parser.block.ruler.at(name, limited(rule.fn), {"alt": rule.alt})


def _limited_label(rule: InlineRule, opener: str) -> InlineRule:
    """Wrap a rule of labels with limits.

    An unclosed bracket is text at once. Beyond ``MAX_LABELS`` nested labels, the outer labels are text.
    """

    def limited(state: StateInline, silent: bool) -> bool:
        if not state.src.startswith(opener, state.pos) or state.html_terminator_last("]") <= state.pos:
            return False
        work_of(state.env).spend(BRACKET)
        if silent and state.level > MAX_LABELS:
            state.pos = state.posMax
            return True
        return rule(state, silent)

    return limited


def _limited_reference(rule: InlineRule) -> InlineRule:
    """Wrap the rule of footnote references, which would search the whole text for the end of each label."""

    def limited(state: StateInline, silent: bool) -> bool:
        start = state.pos + 2
        is_label = state.src.startswith("[^", state.pos) and (
            state.src.find("]", start, start + MAX_FOOTNOTE_LABEL) > start
        )
        return is_label and rule(state, silent)

    return limited


def _limited_footnote(rule: InlineRule) -> InlineRule:
    def limited(state: StateInline, silent: bool) -> bool:
        if state.env.get("footnote_marks", 0) >= MAX_FOOTNOTES or not rule(state, silent):
            return False
        if not silent:
            work_of(state.env).spend(FOOTNOTE)
            state.env["footnote_marks"] = state.env.get("footnote_marks", 0) + 1
        return True

    return limited


def _costly(rule: InlineRule, opener: str, units: int) -> InlineRule:
    def counted(state: StateInline, silent: bool) -> bool:
        matches = state.src[state.pos] == opener and rule(state, silent)
        if matches:
            work_of(state.env).spend(units)
        return matches

    return counted


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
    """Return the approximate number of empty cells that a table at this place would add.

    Counting stops above ``MAX_EMPTY_CELLS``. Tables with fewer than four columns count as 0.
    """
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
