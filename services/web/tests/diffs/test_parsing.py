"""Texts of diffs as pages show them."""

import hashlib

from ingot_web.diffs.rules.parsing import LINES, MOST_FILES, MOST_LINES, line_at, parse, parse_file

CHANGED = """diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -3,4 +3,4 @@ def f():
 context
-old
+new
 more
\\ No newline at end of file
"""


def test_lines_have_their_numbers_on_both_sides():
    (file,) = parse(CHANGED).files

    shown = [(line.kind, line.old, line.new, line.text) for line in file.lines[1:]]
    assert (file.path, file.status, file.additions, file.deletions) == ("src/a.py", "changed", 1, 1)
    assert shown == [
        ("context", 3, 3, "context"),
        ("del", 4, None, "old"),
        ("add", None, 4, "new"),
        ("context", 5, 5, "more"),
    ]


def test_a_file_has_the_place_that_addresses_of_gitea_name():
    (file,) = parse(CHANGED).files
    assert file.anchor == f"diff-{hashlib.sha1(b'src/a.py').hexdigest()}"


def test_lines_that_look_like_heads_of_files_stay_lines():
    text = CHANGED.replace("-old", "--- a/x").replace("+new", "+++ b/y")
    (file,) = parse(text).files

    assert [line.text for line in file.lines if line.kind in ("add", "del")] == ["-- a/x", "++ b/y"]
    assert file.path == "src/a.py"


def test_new_deleted_renamed_and_binary_files_are_said():
    text = (
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n"
        "diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        "diff --git a/b c b/d e\nsimilarity index 100%\nrename from b c\nrename to d e\n"
        "diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n"
        "diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n"
    )
    files = parse(text).files

    assert [(f.path, f.old_path, f.status, f.is_binary) for f in files] == [
        ("new", "", "added", False),
        ("old", "", "deleted", False),
        ("d e", "b c", "renamed", False),
        ("p.png", "", "changed", True),
        ("x y", "", "changed", False),
    ]


def test_names_that_git_quotes_are_read():
    text = (
        'diff --git "a/\\303\\244.txt" "b/\\303\\244.txt"\n--- "a/\\303\\244.txt"\n+++ "b/\\303\\244.txt"\n'
        "@@ -1 +1 @@\n-a\n+b\n"
    )

    assert parse(text).files[0].path == "ä.txt"


def test_what_is_too_much_is_counted():
    lines = "".join(f"+{n}\n" for n in range(MOST_LINES + 7))
    head = "diff --git a/{0} b/{0}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1,9 @@\n"
    long = parse(head.format("a") + lines).files[0]
    many = parse("".join(head.format(n) + "+x\n" for n in range(MOST_FILES + 3)))

    assert len(long.lines) == MOST_LINES
    assert long.omitted == 8
    assert long.additions == MOST_LINES + 7
    assert (len(many.files), many.omitted) == (MOST_FILES, 3)


def test_a_file_alone_has_pages_of_lines_with_their_numbers():
    head = "diff --git a/a b/a\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,9 @@\n"
    text = head + "".join(f"+{n}\n" for n in range(1, LINES + 7))
    pages = [parse_file(text, 37, page).files[0] for page in (1, 2, 3)]

    assert [(len(file.lines), file.length, file.number) for file in pages] == [
        (LINES, LINES + 7, 37), (7, LINES + 7, 37), (0, LINES + 7, 37),
    ]  # fmt: skip
    shown = [(line.new, line.text) for file in pages for line in file.lines if line.kind == "add"]
    assert shown == [(number, str(number)) for number in range(1, LINES + 7)]
    assert parse_file("", 37, 1).files == []


def test_an_empty_diff_has_no_files():
    assert parse("").files == []
    assert parse("@@ -1 +1 @@\n+no head\n").files == []


def test_lines_stand_side_by_side():
    text = CHANGED.replace("+new\n", "+new\n+newer\n")
    rows = list(parse(text).files[0].rows())

    shown = [
        (left and (left.kind, left.text), right and (right.kind, right.text)) for left, right in rows[1:]
    ]
    assert shown == [
        (("context", "context"), ("context", "context")),
        (("del", "old"), ("add", "new")),
        (None, ("add", "newer")),
        (("context", "more"), ("context", "more")),
    ]
    assert rows[0][0].kind == "hunk"


def test_a_line_is_found_by_its_position():
    diff = parse(CHANGED)

    assert [line_at(diff, text)[1].text for text in ("1L4", "1R4", "1R3")] == ["old", "new", "context"]
    assert line_at(parse(CHANGED, 201), "201L4")[1].text == "old"
    for text in ("", "0R4", "2R4", "1R99", "1X4", "R4", "1R4x", "9" * 5000 + "R1", "1R-4", "1R٤"):
        assert line_at(diff, text) is None
