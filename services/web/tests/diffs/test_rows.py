"""Rows of diffs: their content is escaped, numbers link to comments, and comments stand below their lines."""

import pytest
from markupsafe import Markup

from ingot_web.diffs.rules.parsing import DiffFile, DiffLine
from ingot_web.diffs.rules.rows import split_rows, unified_rows

HOSTILE = "<script>alert('1')</script>"
LINK = '?style="&at=2'
BOTH = pytest.mark.parametrize("rows_of", [unified_rows, split_rows])


def rows(*lines, link="", rows_of=unified_rows):
    return rows_of(
        DiffFile("a.py", lines=list(lines)), link, lambda line: Markup("<p>{}</p>").format(line.new)
    )


@BOTH
def test_texts_and_links_are_escaped(rows_of):
    written = rows(DiffLine("hunk", HOSTILE), DiffLine("add", HOSTILE, new=7), link=LINK, rows_of=rows_of)
    assert "<script" not in written
    assert written.count("&lt;script&gt;") == 2
    assert '"&at' not in written


@BOTH
def test_a_line_stands_there_in_its_colours(rows_of):
    line = DiffLine("add", "<", new=7, html='<span class="k">&lt;</span>')
    assert '<td class="text' in rows(line, rows_of=rows_of)
    assert '><span class="k">&lt;</span></td>' in rows(line, rows_of=rows_of)


def test_a_removed_line_is_commented_on_by_its_old_number_and_others_by_the_new_one():
    removed, same = DiffLine("del", "a", old=3), DiffLine("context", "b", old=4, new=5)
    assert 'href="?at=1L3#body" aria-label="Comment on line 3 before the changes">3</a>' in rows(
        removed, link="?at=1"
    )
    row = rows(same, link="?at=1")
    assert row.count("<a ") == 1
    assert "?at=1R5#body" in row
    assert '<td class="number">4</td>' in row
    assert "<a " not in rows(same)


def test_one_side_may_have_no_line():
    row = rows(DiffLine("del", "a", old=3), rows_of=split_rows)
    assert row.index("none") > row.index(">3<")
    assert row.count("<td") == 4


@BOTH
@pytest.mark.parametrize("talk", [{"conversations": ["one"]}, {"has_form": True}])
def test_what_is_said_of_a_line_stands_once_below_it(rows_of, talk):
    lines = [DiffLine("context", "a", 4, 5, **talk), DiffLine("context", "b", 5, 6)]
    written = rows(*lines, rows_of=rows_of)
    assert written.count('<tr class="talk"><td colspan="4"><p>5</p></td></tr>') == written.count("<p>") == 1
    assert written.index("<p>") < written.index(">b<")
