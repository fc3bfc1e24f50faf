"""The work of parsing markdown, in units. Parsing stops when a text exceeds its budget.

The count depends only on the text, never on the machine. A unit is about one microsecond of CPU time.
"""

from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

MOST_WORK = 350_000
"""Units of one text, and of all rendered texts of a request. 128 KiB of prose take about 170,000."""
TOKEN, STEP, SKIP, LINE = 8, 4, 1, 8
"""Units of a token, a position of inline rules, a repeated position, and a line that may end a block."""


class TooMuchWork(Exception):
    """Parsing the text exceeds its budget."""


class Work:
    """A budget for parsing one text, with ``left`` units of work."""

    def __init__(self, left: int = MOST_WORK) -> None:
        self.left = left

    def spend(self, units: int) -> None:
        """Subtract units from the budget. Raises TooMuchWork."""
        self.left -= units
        if self.left < 0:
            raise TooMuchWork


def work_of(env: Any) -> Work:
    """Return the remaining work of the text that is parsed with ``env``."""
    work: Work = env.setdefault("work", Work())
    return work


def count_work(parser: MarkdownIt) -> None:
    """Make the parser count its work. Call this before plugins and other limits wrap the rules."""
    parser.inline.__class__ = _InlineParser
    parser.block.__class__ = _BlockParser
    text = parser.inline.ruler.__rules__[0].fn

    def counted_text(state: StateInline, silent: bool) -> bool:
        state.work.spend(STEP)  # type: ignore[attr-defined]
        return text(state, silent)

    parser.inline.ruler.at("text", counted_text)
    fence = next(rule for rule in parser.block.ruler.__rules__ if rule.name == "fence")
    inner = fence.fn

    def counted_fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        """Count each line that may end a block. The parser tries this rule first."""
        state.work.spend(LINE)  # type: ignore[attr-defined]
        return inner(state, start, end, silent)

    parser.block.ruler.at("fence", counted_fence, {"alt": fence.alt})


class _Counting:
    """The base class of both parsers' states. Each pushed token costs work."""

    def __init__(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)  # type: ignore[call-arg]  # of the parser's state
        self.work = work_of(env)

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        self.work.spend(TOKEN)
        token: Token = super().push(ttype, tag, nesting)  # type: ignore[misc]  # of the parser's state
        return token


class _InlineState(_Counting, StateInline):
    pass


class _BlockState(_Counting, StateBlock):
    pass


class _InlineParser(ParserInline):
    def skipToken(self, state: StateInline) -> None:  # noqa: N802 - the name is markdown-it's
        state.work.spend(SKIP)  # type: ignore[attr-defined]
        super().skipToken(state)

    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = _InlineState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _BlockParser(ParserBlock):
    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token] | None:
        if not src:
            return None
        state = _BlockState(src, md, env, tokens)
        self.tokenize(state, state.line, state.lineMax)
        return state.tokens
