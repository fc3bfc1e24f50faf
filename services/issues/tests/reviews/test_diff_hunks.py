"""The hunk of a line in a diff."""

from ingot_issues.reviews.rules.diff_hunks import Position, find_hunks

DIFF = """diff --git a/old.txt b/new.txt
similarity index 90%
--- a/old.txt
+++ b/new.txt
@@ -1,6 +1,6 @@ head
 one
 two
 three
-four
+FOUR
 five
--- not a header
@@ -20,2 +20,3 @@
 twenty
+more
 last
\\ No newline at end of file
diff --git a/binary b/binary
Binary files a/binary and b/binary differ
diff --git a/gone b/gone
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""


def test_a_hunk_ends_with_the_line_and_has_three_before_it():
    old, new = Position("old.txt", 4, is_old=True), Position("new.txt", 4, is_old=False)
    assert find_hunks(DIFF, {old, new}) == {
        old: "@@ -1,6 +1,6 @@ head\n one\n two\n three\n-four",
        new: "@@ -1,6 +1,6 @@ head\n two\n three\n-four\n+FOUR",
    }


def test_lines_of_later_hunks_and_of_deleted_files_are_counted():
    more, bye = Position("new.txt", 21, is_old=False), Position("gone", 1, is_old=True)
    assert find_hunks(DIFF, {more, bye}) == {
        more: "@@ -20,2 +20,3 @@\n twenty\n+more",
        bye: "@@ -1 +0,0 @@\n-bye",
    }


def test_what_the_diff_does_not_show_has_no_hunk():
    positions = {
        Position("new.txt", 10, is_old=False),
        Position("other", 1, is_old=False),
        Position("binary", 1, is_old=False),
        Position("old.txt", 4, is_old=False),
    }
    assert find_hunks(DIFF, positions) == {}
    assert find_hunks("", positions) == {}
