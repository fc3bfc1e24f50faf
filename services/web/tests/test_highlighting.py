"""Files as coloured lines."""

import pytest
from markupsafe import Markup

from ingot_web.core.highlighting import LARGEST, code_rows, highlight


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


def test_each_line_has_a_number_to_which_an_address_leads():
    rows = code_rows([Markup("<b>1</b>"), "<b>2</b>"])

    assert '<tr id="L1">' in rows
    assert '<td class="text"><b>1</b></td>' in rows
    assert '<a href="#L2" aria-label="Line 2">2</a></td><td class="text">&lt;b&gt;2&lt;/b&gt;</td>' in rows
