"""Rows of diffs: what is in them is escaped, and numbers lead to comments."""

from ingot_web.core.diff_rows import split_row, unified_row
from ingot_web.core.diffs import DiffLine

HOSTILE = "<script>alert('1')</script>"
LINK = '?style="&at=2'


def test_texts_and_links_are_escaped():
    line = DiffLine("add", HOSTILE, new=7)
    hunk = DiffLine("hunk", HOSTILE)
    for row in (
        unified_row(line, LINK),
        split_row(None, line, LINK),
        unified_row(hunk, LINK),
        split_row(hunk, hunk, LINK),
    ):
        assert "<script" not in row
        assert "&lt;script&gt;" in row
        assert '"&at' not in row


def test_a_removed_line_is_commented_on_by_its_old_number_and_others_by_the_new_one():
    removed, same = DiffLine("del", "a", old=3), DiffLine("context", "b", old=4, new=5)
    assert 'href="?at=1L3#write" aria-label="Comment on line 3 before the changes">3</a>' in unified_row(
        removed, "?at=1"
    )
    row = unified_row(same, "?at=1")
    assert row.count("<a ") == 1
    assert "?at=1R5#write" in row
    assert '<td class="number">4</td>' in row
    assert "<a " not in unified_row(same, "")


def test_one_side_may_have_no_line():
    row = split_row(DiffLine("del", "a", old=3), None, "")
    assert row.index("none") > row.index(">3<")
    assert row.count("<td") == 4
