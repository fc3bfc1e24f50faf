"""Diffs in colours: of both sides, with the words that differ, and of no more than a page can bear."""

import html
import re

import pytest

from ingot_web.diffs.rules.colours import LARGEST, MOST_WORDS, changed_words, coloured_diff
from ingot_web.diffs.rules.parsing import parse

TAG = re.compile(r"<[^>]*>")


def coloured(*lines, name="a.py"):
    """The HTML of the lines of one hunk, each with its sign."""
    text = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n" + "\n".join(lines)
    return [line.html for line in coloured_diff(parse(text)).files[0].lines[1:]]


def marked(old, new):
    """Both lines with what differs in brackets."""
    texts = []
    for line, ranges in zip((old, new), changed_words(old, new), strict=True):
        text = line
        for start, end in reversed(ranges):
            text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
        texts.append(text)
    return tuple(texts)


def test_both_sides_have_the_colours_of_the_language():
    same, old, new = coloured(" def f():", "-    return 'old'", "+    return 1")
    assert same == '<span class="k">def</span> <span class="nf">f</span>():'
    assert '<span class="k">return</span>' in old
    assert '<span class="s">' in old
    assert '<mark><span class="m">1</span></mark>' in new


def test_a_text_that_only_one_side_opens_stays_on_that_side():
    old, new, same = coloured('-"""', "+x = 1", " def f(): pass")
    assert old.startswith('<span class="s">')
    assert '<span class="m">1</span>' in new
    assert '<span class="k">def</span>' in same


def test_lines_of_one_hunk_do_not_colour_those_of_the_next():
    *_, last = coloured('+"""', "@@ -9 +9 @@", "+def f(): pass")
    assert '<span class="k">def</span>' in last


HOSTILE = "<script>alert(\"1\")</script></td>&amp;<img src=x onerror='1'>"


@pytest.mark.parametrize("name", ["a.py", "a.html", "a.js", "a.md", "a.unknown", "a.c", "Makefile", "<b>.py"])
def test_no_line_brings_tags_of_its_own_and_none_loses_a_character(name):
    texts = ["", HOSTILE, f"x {HOSTILE}", f"y {HOSTILE} '''", "\t\x0c\u2028ä\x1d \ufeff", "a\rb"]
    lines = [sign + text for text in texts for sign in "-+ "]
    written = coloured(*lines, name=name)
    assert {tag.split(" ")[0].strip("</>") for line in written for tag in TAG.findall(line)} <= {
        "span",
        "mark",
    }
    assert [html.unescape(TAG.sub("", line)).replace("\r", " ") for line in written] == [
        line[1:].replace("\r", " ") for line in lines
    ]


def test_changed_words_are_marked_whole():
    assert marked("the old step 3 here", "the new step 3 here") == (
        "the [old] step 3 here",
        "the [new] step 3 here",
    )
    assert marked("f(a, b)", "f(a, name, b)") == ("f(a, b)", "f(a, [name, ]b)")
    assert marked("old_name = 1", "old_names = 1") == ("[old_name] = 1", "[old_names] = 1")
    assert marked("call(one two, x)", "call(red blue, x)") == ("call([one two], x)", "call([red blue], x)")
    assert marked("same", "same") == ("same", "same")


def test_lines_that_have_little_in_common_have_no_marks():
    assert marked("return None", "while heights: wait(2)") == ("return None", "while heights: wait(2)")
    long = " ".join(f"a{n}" for n in range(MOST_WORDS))
    assert changed_words(f"x y {long} z", f"x y {long.upper()} z") == ([], [])


def test_marks_cut_through_colours():
    old, new = coloured("-x = 'one word'  # and", "+x = 'one name'  # and")
    assert '<mark><span class="s">word</span></mark>' in old
    assert '<span class="c"># and</span>' in new


def test_what_is_too_much_for_a_page_is_plain():
    head = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n"
    line = "+def f(): pass" + " " * 1000 + "\n"
    sizes = (LARGEST // 2000, LARGEST // 1000, LARGEST // 4000)
    diff = coloured_diff(parse("".join(head.format(f"{size}.py") + line * size for size in sizes)))
    assert [file.lines[1].html is not None for file in diff.files] == [True, False, True]
