"""Files as coloured lines."""

import asyncio

import pytest
from markupsafe import Markup

from ingot_testing.lexers import SlowLexer
from ingot_web.code.rules.highlighting import LARGEST, code_rows, highlight, pieces_of
from ingot_web.pages.rules.accents import contrast

from ..colours import TEXT_CONTRAST, THEMES
from .test_files import put


@pytest.mark.parametrize("name", ["a.py", "a.html", "a.js", "a.md", "a.unknown", "a.c", "Makefile"])
@pytest.mark.parametrize(
    "text", ['<script>alert("1")</script>', "</span></td><img src=x onerror=alert(1)>", "& < > \" '"]
)
def test_no_file_brings_tags_of_its_own(name, text):
    html = "\n".join(highlight(name, text))

    assert "<script" not in html
    assert "<img" not in html
    assert {part.split(">")[0].split(" ")[0] for part in html.split("<")[1:]} <= {"span", "/span"}


@pytest.mark.parametrize(
    "text", ["", "one", "one\n", "one\ntwo", "\n\n\n", "one\n\ntwo\n", "a\x0cb\u2028c\x1d\n", "a\r\nb\rc\n"]
)
@pytest.mark.parametrize("name", ["a.py", "a.unknown"])
def test_lines_are_those_of_the_file(name, text):
    assert len(highlight(name, text)) == len(text.removesuffix("\n").split("\n") if text else ())


def test_a_text_over_several_lines_is_closed_on_each():
    lines = highlight("a.py", '"""one\ntwo\nthree"""\n')

    assert len(lines) == 3
    assert all(line.count("<span") == line.count("</span>") for line in lines)


def test_a_large_file_is_plain():
    lines = highlight("a.py", "def f(): pass\n" * (LARGEST // 10))

    assert "<span" not in lines[0]


@pytest.mark.parametrize(
    ("name", "text", "seconds"), [("a.py", "x = 1", 0), ("a.unknown", "x = 1", 1), ("a.py", "\ufeffx = 1", 1)]
)
def test_there_are_no_colours_without_time_or_language_or_where_the_lexer_takes_something_away(
    name, text, seconds
):
    assert pieces_of(name, text, seconds) is None


def test_a_line_made_for_its_lexer_costs_its_time_once():
    text = "a" + " " * (LARGEST - 10) + "b\n"
    assert highlight("a.ini", text) == [text.removesuffix("\n")]
    assert highlight("a.ini", "[a]\nb = c\n")[1].startswith("<span")


async def test_a_file_that_holds_up_its_lexer_is_shown_plain_and_holds_up_nobody(pages, forge, monkeypatch):
    hostile, other = put(forge, "a.ini", "a" + " " * 32_700 + "b\n"), put(forge, "b.py", "def f(): pass\n")
    lexer = SlowLexer(monkeypatch)
    page = asyncio.create_task(pages.get(f"/ann/demo/src/{hostile}"))
    try:
        await lexer.begun()
        meanwhile = await pages.get(f"/ann/demo/src/{other}")
        assert not page.done()
    finally:
        lexer.release()
    shown = await page
    for answer, line in ((shown, "a" + " " * 32_700 + "b"), (meanwhile, "def f(): pass")):
        assert answer.status_code == 200
        assert f'<td class="text">{line}</td>' in answer.text
    again = await pages.get(f"/ann/demo/src/{other}")
    assert '<td class="text"><span class="k">def</span>' in again.text


def test_each_line_has_a_number_to_which_an_address_leads():
    rows = code_rows([Markup("<b>1</b>"), "<b>2</b>"])

    assert '<tr id="L1">' in rows
    assert '<td class="text"><b>1</b></td>' in rows
    assert '<a href="#L2" aria-label="Line 2">2</a></td><td class="text">&lt;b&gt;2&lt;/b&gt;</td>' in rows


@pytest.mark.parametrize("theme", THEMES)
def test_code_can_be_read_on_every_ground(theme):
    scheme = THEMES[theme]
    grounds = [scheme[name] for name in ("raised", "sunken", "add", "add-strong", "del", "del-strong")]
    colours = [scheme[name] for name in scheme if name.startswith("c-")] + [scheme["text"]]
    assert [(a, b) for a in colours for b in grounds if contrast(a, b) < TEXT_CONTRAST[theme]] == []
