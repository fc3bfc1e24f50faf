"""The cost of markdown: in proportion to its length, whatever is in it; and what is usual stays as it was."""

import asyncio
import html
import re
import time
from collections.abc import Callable

import pytest

from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_contracts.rendering import EXCERPT_CHARACTERS, FULL_PAGE
from ingot_issues.markdown.components import MARKDOWN_AT_ONCE, MARKDOWN_WAITING
from ingot_issues.markdown.rules.limits import MAX_EMPTY_CELLS, MAX_LABELS, MAX_LISTS, MAX_QUOTES
from ingot_issues.markdown.rules.rendered_texts import MOST_CHARACTERS
from ingot_issues.markdown.rules.rendering import LARGEST, LinkContext, render

CONTEXT = LinkContext("http://forge/", "http://forge/ann/app/")
KIB = 1024
WEB = SigningKey.generate()


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {"web": WEB.x}}


def repeated(unit: str) -> Callable[[int], str]:
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def nested(start: str, middle: str, end: str) -> Callable[[int], str]:
    return lambda length: (
        start * (length // (len(start) + len(end))) + middle + end * (length // (len(start) + len(end)))
    )


HOSTILE = {
    **{
        unit: repeated(unit)
        for unit in (
            "[", "![", "[]", "[](", "[a](", "[a](<", '[a](b "', "]", "[\n", "[[a", "[^", "^[", "[^a]: b\n\n",
            "[^a]: ",
            "[a [b](c)](d) ", "[a]: b\n", "[a]: <b\n", "[a](b) ", "*", "*a ", "_a ", "**a *b ", "a** b* ",
            "*a_ ",
            "*a**b", "~", "~~a ", "`", "`a ", "``a` ", "<", "<a ", "a <!-- ", "a <? ", "a <![CDATA[ ",
            "<http://a",
            "<a@b", '<a b="', "<b>", "<div>", "<div>\n\n", "<p><div>", "<ul><li>", "<b id=1>\n\na\n\n", ">",
            "> ",
            ">a\n\n", "- ", "- a\n", "-\n\n", "1. ", "- > ", "* ", "|", "|-|\n", "\\|", "&", "&amp;", "&#1",
            "\\",
            "http://a,", "www.", "@a.", "#1 ", "a/a#1 ", "0123456789abcdef", "# a\n", "a\n=\n", "```\n",
            "a\n", "\n",
        )
    },
    "[…]": nested("[", "a", "]"),
    "![…](a)": nested("![", "a", "](a)"),
    "[…](a)": nested("[", "a", "](a)"),
    "^[…]": nested("^[", "a", "]"),
    "*…*": nested("*a ", "b", "c*"),
    "<b>…</b>": nested("<b>", "a", "</b>"),
    "growing `": lambda length: "".join("e" + "`" * n for n in range(int((2 * length) ** 0.5)))[:length],
    "a quote that goes on": lambda length: "> " * 1000 + "a\n" * (length // 2),
    "one definition, many uses": lambda length: f"[a]: {'b' * (length // 2)}\n\n" + "[a] " * (length // 8),
    "a title that does not end": lambda length: '[a]: b "' + "x\n" * (length // 2),
    "a wide table": lambda length: "|a" * (length // 4) + "|\n" + "|-" * (length // 4) + "|\n",
    "a long table": lambda length: "|a|b|\n|-|-|\n" + "|c|d|\n" * (length // 6),
    "rows to fill up": repeated("|a" * 256 + "\n" + "|-" * 256 + "\n" + "|\n" * 256 + "\n"),
    "styles to open again": lambda length: "".join(f"<b class={n}>" for n in range(length // 30))
    + "<div>a</div>" * (length // 24),
    "tables in tables": lambda length: "<table>" * (length // 14) + "<b>a" * (length // 8),
}  # fmt: skip
"""Inputs that parsers scan again and again, by content, each of any length."""


def cpu_seconds(text: str) -> float:
    """Return the seconds of rendering. The size of the output is proportional, too."""
    begun = time.thread_time()
    shown = render(text, CONTEXT)
    seconds = time.thread_time() - begun
    assert len(shown) < 64 * max(len(text), 4 * KIB)
    return seconds


AT_FULL_SIZE = [
    "[",
    "![",
    "[…]",
    "<div>",
    "<div>\n\n",
    "a quote that goes on",
    "rows to fill up",
    "styles to open again",
]
"""Inputs that once cost far more than their length, or took seconds."""


@pytest.mark.parametrize(
    ("shape", "length"),
    [(shape, 4 * KIB) for shape in HOSTILE] + [(shape, 32 * KIB) for shape in AT_FULL_SIZE],
)
def test_four_times_the_text_costs_four_times_as_much(shape, length):
    """CPU time of this thread, up to 128 KiB: quadratic work would be sixteen times as much."""
    part, whole = HOSTILE[shape](length), HOSTILE[shape](4 * length)
    for _ in range(3):  # another look when something else disturbed it
        once, all_of_it = cpu_seconds(part), cpu_seconds(whole)
        if all_of_it < max(9 * once, 0.1):
            return
    pytest.fail(f"{once:.2f} s and {all_of_it:.2f} s")


def test_nothing_is_lost_beyond_a_bound():
    quotes, items = "> " * (MAX_QUOTES + 3), "".join(f"{'  ' * n}- {n}\n" for n in range(MAX_LISTS + 3))
    for text in (f"{quotes}a\n", items):
        shown = html.unescape(re.sub("<[^>]*>", "", render(text, CONTEXT)))
        assert re.findall(r"\w+", shown) == re.findall(r"\w+", text)
    assert render(f"{quotes}a\n", CONTEXT).count("<blockquote>") == MAX_QUOTES
    assert render(items, CONTEXT).count("<ul>") == MAX_LISTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[![a](b)](c)", "<a "),
        ("[a [b [c]]](d)", ">a [b [c]]</a>"),
        ("[" * MAX_LABELS + "a" + "]" * MAX_LABELS + "(b)", "</a>"),
        ("[ [ [ [ [ [ [ [ [ [ [a](b)", ">a</a>"),
        ("in [0, 1) and ![ too, [a](b)", ">a</a>"),
        ("a ^[note] b", "footnote"),
        ("> " * MAX_QUOTES + "a", "<blockquote>\n" * MAX_QUOTES),
        (
            "<details><summary>a</summary>\n\n**b**\n\n</details>",
            "<strong>b</strong>\n</p>\n</details>".replace("\n</p>", "</p>"),
        ),
        ("<p>a\n\n" * 300, "<p>a"),
        ('<div align="center">\n\n# a\n\n</div>', '<div align="center">'),
    ],
)  # fmt: skip
def test_what_is_usual_stays_as_it_was(text, expected):
    assert expected in render(text, CONTEXT)


def test_a_table_with_gaps_is_filled_up_and_one_that_is_all_gaps_is_text():
    def table(rows: int) -> str:
        return "|a" * 8 + "|\n" + "|-" * 8 + "|\n" + "|b|\n" * rows

    assert render(table(10), CONTEXT).count("<td") == 80
    assert "<table>" not in render(table(MAX_EMPTY_CELLS), CONTEXT)


def test_html_that_opens_too_much_is_text():
    shown = render("<div>" * 200, CONTEXT)
    assert "<div>" not in shown
    assert "&lt;div&gt;" in shown
    assert render("<div>a</div>\n" * 200, CONTEXT).count("<div>") == 200


async def test_longer_texts_are_for_callers_who_are_signed_in(world):
    text = {"text": "a" * 40_000}
    refused = await world.call("POST", "//markdown", text, as_=0)
    assert refused.status_code == 422
    assert "sign in" in refused.json()["message"]
    assert (await world.call("POST", "//markdown", text)).status_code == 200


async def test_texts_of_a_caller_wait_for_each_other_and_too_many_are_refused(world):
    texts = [{"text": f"{number} *b* " * 500} for number in range(3 * MARKDOWN_WAITING)]
    answers = await asyncio.gather(*(world.call("POST", "//markdown", text) for text in texts))
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(200) >= MARKDOWN_AT_ONCE + MARKDOWN_WAITING
    refused = answers[statuses.index(429)]
    assert refused.headers["Retry-After"] == "1"
    assert (await world.call("POST", "//markdown", texts[0])).status_code == 200


async def test_a_page_has_so_much_markdown_and_the_beginning_of_the_rest_as_it_is_written(world):
    many = MOST_CHARACTERS // LARGEST + 1
    texts = [f"<{number}>{'a' * (LARGEST - 99)}" for number in range(many)] + ["*b*"]
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}
    answer = (await world.http.post("/internal/markdown", json={"texts": texts}, headers=headers)).json()
    *rendered, last, short = answer["html"]
    assert short == "<p><em>b</em></p>\n", "the short ones are the first"
    assert answer["plain"] == [many - 1], "alone it has room"
    assert all(html.startswith("<p>&lt;") and len(html) > LARGEST - 99 for html in rendered)
    assert FULL_PAGE in last
    assert f"<pre>&lt;{many - 1}&gt;aaa" in last
    assert len(last) < 2 * EXCERPT_CHARACTERS


async def test_a_page_says_how_much_of_its_budget_is_left(world):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}

    async def shown(**fields):
        return (await world.http.post("/internal/markdown", json=fields, headers=headers)).json()

    first = await shown(texts=["*a* " * 400])
    assert 0 < first["share"] < 1
    second = await shown(texts=["*b* " * 400], share=0.5, colours=0)
    assert (0.5 - second["share"], second["colours"]) == (pytest.approx(1 - first["share"], rel=0.5), 0)
    spent = await shown(texts=["*c* " * 400], share=0)
    assert (spent["plain"], FULL_PAGE in spent["html"][0]) == ([0], True)


async def test_links_of_a_page_of_a_wiki_are_below_the_wiki(world):
    headers = {SERVICE_HEADER: ServiceIdentity("web", WEB).token("issues")}
    body = {"texts": ["[a](Other-page) ![b](c.png) [[Third page]]"], "context": "ann/app", "wiki": True}
    answer = (await world.http.post("/internal/markdown", json=body, headers=headers)).json()
    for link in ("ann/app/wiki/Other-page", "ann/app/wiki/raw/c.png", "ann/app/wiki/Third-page"):
        assert f'{link}"' in answer["html"][0]
