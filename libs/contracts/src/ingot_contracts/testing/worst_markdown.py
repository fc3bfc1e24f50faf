"""Markdown that is expensive to render.

Each construct of the dialect is repeated, nested and unclosed, in any length.

``CONSTRUCTS`` has the rules of the parser by chain and name. ``WORST`` has the most expensive texts.
"""

from collections.abc import Callable

LARGEST = 128 * 1024
"""Characters of the largest accepted text."""

Form = Callable[[int], str]
"""Returns a text of the requested length in characters, or slightly less."""


def repeated(unit: str, start: str = "") -> Form:
    """Return a form that repeats ``unit`` after ``start``."""
    return lambda length: (start + unit * (length // len(unit) + 1))[:length]


def nested(opening: str, inside: str, closing: str) -> Form:
    """Return a form that nests ``inside`` as deep as the length allows."""
    both = len(opening) + len(closing)
    return lambda length: (
        opening * ((length - len(inside)) // both) + inside + closing * ((length - len(inside)) // both)
    )


def growing(unit: str, mark: str) -> Form:
    """Return a form that repeats ``unit`` with one mark, two marks and so on."""
    return lambda length: "".join(unit + mark * n for n in range(int((2 * length) ** 0.5)))[:length]


def interleaved(first: Form, second: Form) -> Form:
    """Return a form that mixes two forms in pieces of 64 characters, half of the text each."""

    def form(length: int) -> str:
        pieces = zip(_pieces(first(length // 2)), _pieces(second(length // 2)), strict=False)
        return "".join(one + other for one, other in pieces)

    return form


def within(outer: Form, inner: Form) -> Form:
    """Return a form that puts one form into the middle of another form."""

    def form(length: int) -> str:
        outside = outer(length // 2)
        return outside[: length // 4] + inner(length // 2) + outside[length // 4 :]

    return form


def _pieces(text: str) -> list[str]:
    return [text[place : place + 64] for place in range(0, len(text), 64)]


def _numbered(template: str) -> Form:
    """Return a form that repeats ``template`` with consecutive numbers."""
    return lambda length: "".join(template.format(n) for n in range(length // len(template.format(10_000))))


def _cut(form: Form) -> Form:
    return lambda length: form(length)[:length]


LANGUAGES = (
    "python",
    "ruby",
    "js",
    "css",
    "html",
    "java",
    "go",
    "rust",
    "perl",
    "php",
    "sql",
    "lua",
    "scala",
    "r",
)

CONSTRUCTS: dict[str, list[Form]] = {
    "core.normalize": [repeated("\r\n"), repeated("\0"), repeated("a\r"), repeated("\t")],
    "core.block": [repeated("a\n\n"), repeated("\n"), repeated(" \n")],
    "core.inline": [repeated("a "), repeated("😀"), repeated("字")],
    "core.text_join": [repeated("a&amp;\\*"), repeated("\\a")],
    "core.footnote_tail": [
        _numbered("[^{0}] \n\n[^{0}]: a\n\n"),
        repeated("[^1]", "[^1]: a\n\n"),
        repeated("[^1]", "[^1]: " + "a *b* " * 100 + "\n\n"),
        repeated("[^a]: [^a]\n\n"),
    ],
    "core.ingot_alerts": [repeated("> [!NOTE]\n\n"), repeated("> [!tip]\n> a\n\n"), repeated("> [!")],
    "core.ingot_block_attributes": [repeated("# a\n"), _numbered("# {0}\n"), repeated("|a|\n|:-:|\n|b|\n\n")],
    "core.ingot_links": [
        *map(
            repeated,
            ("#1 ", "a/a#1 ", "@a ", "@a.", "0123456a ", "0123456789abcdef", "[[a]] ", "[[a|b]]", "[[a"),
        ),
        *map(
            repeated, ("http://a ", "www.a ", "http://a,", "www.", "https://a/(b)", "![](a)", "[[", "#", "@")
        ),
    ],
    "block.table": [
        repeated("|c|d|e|f|\n", "|a|b|c|d|\n|-|-|-|-|\n"),
        repeated("|", "|a|\n|-|\n"),
        repeated("|-|\n"),
        repeated("|a|\n|-|\n\n"),
        lambda length: "|a" * (length // 4) + "|\n" + "|-" * (length // 4) + "|\n",
        repeated("|a" * 256 + "\n" + "|-" * 256 + "\n" + "|\n" * 256 + "\n"),
        lambda length: "|a" * (length // 8) + "|\n" + "|-" * (length // 8) + "|\n" + "|\n" * (length // 4),
        repeated("|\\|"),
    ],
    "block.code": [repeated("    a\n"), repeated("    a\n\n"), repeated("\ta\n\nb\n\n")],
    "block.fence": [
        *map(
            repeated,
            ("```\n", "```a\n", "~~~\na\n~~~\n", "```python\na\n```\n", "```a\n```\n", "````", "``` a\n"),
        ),
        lambda length: "".join(f"```l{n}\na\n```\n" for n in range(length // 16)),
        lambda length: "".join(f"```python\nx = {n}\n```\n" for n in range(length // 26)),
        repeated("```python\n" + "a+" * 8_000 + "\n```\n"),
        lambda length: "```ini\na" + " " * min(length - 20, 32_000) + "b\n```\n",
    ],
    "block.blockquote": [
        *map(repeated, (">", "> ", ">a\n\n", ">a\n", "> > a\n", ">\n", "> - ", ">> a\n> b\n")),
        lambda length: "> " * min(length // 4, 1_000) + "a\n" * (length // 4),
    ],
    "block.hr": [*map(repeated, ("---\n", "***\n", "- - -\n", "___\n\n", "* * "))],
    "block.list": [
        *map(
            repeated,
            (
                "- ",
                "- a\n",
                "-\n\n",
                "1. ",
                "1. a\n",
                "- - a\n",
                "* a\n+ b\n",
                "- [ ] x\n",
                "- [x]\n",
                "1)\n",
            ),
        ),
        lambda length: "".join("  " * n + "- a\n" for n in range(int(length**0.5))),
        lambda length: "- " * min(length // 4, 1_000) + "a\n" * (length // 4),
        lambda length: "- a\n" + "  b\n" * (length // 4),
    ],
    "block.footnote_def": [
        *map(repeated, ("[^a]: b\n\n", "[^a]: ", "[^a]: b\n", "[^a]:\n", "[^a]: > - ")),
        _numbered("[^{0}]: a\n"),
    ],
    "block.reference": [
        *map(repeated, ("[a]: b\n", "[a]: <b\n", "[a]: b 'c\n", "[a]:\n", "[\n", "[a\n")),
        _numbered("[{0}]: a\n"),
        lambda length: f"[a]: {'b' * (length // 2)}\n\n" + "[a] " * (length // 8),
        lambda length: f"[a]: b '{'c' * (length // 2)}'\n\n" + "[a] " * (length // 8),
        lambda length: '[a]: b "' + "x\n" * (length // 2 - 4),
    ],
    "block.html_block": [
        *map(
            repeated,
            ("<div>", "<div>\n\n", "<p><div>", "<ul><li>", "<!-- a\n", "<table><b>a", "<b id=1>\n\na\n\n"),
        ),
        nested("<div>", "a", "</div>"),
        lambda length: "<table>" * (length // 14) + "<b>a" * (length // 8),
        lambda length: (
            "".join(f"<b class={n}>" for n in range(length // 30)) + "<div>a</div>" * (length // 24)
        ),
        repeated("<a href=b title=c>d</a>"),
        repeated("<div "),
    ],
    "block.heading": [*map(repeated, ("# a\n", "#\n", "###### a #\n", "# ", "# a #"))],
    "block.lheading": [*map(repeated, ("a\n=\n", "a\n-\n\n", "a\n", "=\n", "a\n ="))],
    "block.paragraph": [*map(repeated, ("a\n", "a\n\n", "a  b\n  c\n"))],
    "inline.text": [*map(repeated, ("a", "a! ", ":", "{}"))],
    "inline.newline": [*map(repeated, ("a  \n", "a\\\n", "a \n"))],
    "inline.escape": [*map(repeated, ("\\", "\\*", "\\|", "\\\n"))],
    "inline.backticks": [*map(repeated, ("`", "`a ", "`a`", "``a` ", "`a``b")), growing("e", "`")],
    "inline.strikethrough": [*map(repeated, ("~", "~~a ", "~~a~~", "a~~~~b", "~~a~")), growing("e", "~")],
    "inline.emphasis": [
        *map(
            repeated, ("*a ", "_a ", "*a*", "**a *b ", "a** b* ", "*a_ ", "*a**b", "a***", "_a_b", "***a***")
        ),
        nested("*a ", "b", "c*"),
        nested("**a", "b", "c**"),
        nested("*a **b ", "c", "d** e*"),
        growing("e", "*"),
    ],
    "inline.link": [
        *map(
            repeated,
            ("[", "[]", "[](", "[a](", "[a](<", '[a](b "', "[a](b)", "]", "[a [b](c)](d) ", "](", "[a][a]"),
        ),
        nested("[", "a", "]"),
        nested("[", "a", "](b)"),
        nested("[a](", "b", ")"),
    ],
    "inline.image": [
        *map(repeated, ("![", "![]", "![](", "![a](b)", "![a](", "![![a](b)](c)")),
        nested("![", "a", "](a)"),
    ],
    "inline.footnote_inline": [
        *map(repeated, ("^[", "^[a]", "^[a", "^[]", "^[[a]", "^[*a*]", "^[a](b)")),
        nested("^[", "a", "]"),
        nested("^[a", "b", "c] "),
    ],
    "inline.footnote_ref": [
        *map(repeated, ("[^", "[^a", "[^a]")),
        repeated("[^1]", "[^1]: a\n\n"),
        repeated("[^", "[^1]: a\n\n"),
        repeated("[^1", "[^1]: a\n\n"),
    ],
    "inline.autolink": [*map(repeated, ("<http://a", "<http://a>", "<a@b", "<a@b.c>", "<a:", "<a:b>"))],
    "inline.html_inline": [
        *map(
            repeated,
            ("<", "<a ", "a <b>", "a <!-- ", "a <? ", "a <![CDATA[ ", 'a <a b="', "a </a>", "a <!A "),
        ),
        nested("a <b>", "a", "</b>"),
        repeated("a <br>"),
        repeated("a <a href=b>c</a>"),
    ],
    "inline.entity": [*map(repeated, ("&", "&amp;", "&#1", "&#1;", "&copy;", "&a", "&#x0;", "<>&"))],
}
"""Forms of each construct that parsers scan repeatedly, or that expand to a much larger output."""
CONSTRUCTS |= {
    "inline2.balance_pairs": CONSTRUCTS["inline.emphasis"],
    "inline2.strikethrough": CONSTRUCTS["inline.strikethrough"],
    "inline2.emphasis": CONSTRUCTS["inline.emphasis"],
    "inline2.fragments_join": [*map(repeated, ("*", "a*", "_a", "a **", "~a"))],
}
CONSTRUCTS = {name: [_cut(form) for form in forms] for name, forms in CONSTRUCTS.items()}

FOOTNOTES = repeated("^[a]")
"""120 KB expand to 7 MB of HTML."""
WORST: dict[str, Form] = {
    "footnotes": FOOTNOTES,
    "items": repeated("- a\n"),
    "lines of a quote": lambda length: "> " * 1_000 + "a\n" * ((length - 2_000) // 2),
    "a title that does not end": lambda length: '[a]: b "' + "x\n" * (length // 2 - 4),
    "cells": repeated("|c|d|e|f|\n", "|a|b|c|d|\n|-|-|-|-|\n"),
    "brackets": nested("^[", "a", "]"),
    "references": repeated("#1 "),
    "characters to escape": repeated("&"),
    "code that keeps its lexer busy": lambda length: (
        "```ini\na" + " " * 32_000 + "b\n```\n" + repeated("*word* and another word of text\n")(length)
    )[:length],
    "definitions": repeated("[a]: b\n"),
    "code in many languages": lambda length: "".join(
        f"```{language}\na = 1\n```\n" for language in LANGUAGES * (length // 500)
    )[:length],
}
"""The most expensive texts, by their content."""


def worst_page(count: int = 50) -> list[str]:
    """Return a page of distinct expensive texts of the largest size."""
    forms = [*WORST.values()]
    return [f"{number} {forms[number % len(forms)](LARGEST - 8)}" for number in range(count)]


def footnote_comments() -> list[str]:
    """Return six comments, each with 30,000 footnotes."""
    return [f"{number} {FOOTNOTES(120_000)}" for number in range(6)]
