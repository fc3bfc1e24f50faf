"""Files of a pull request that a reviewer has marked as viewed."""

import re

import pytest

from ingot_contracts.issues.file_views import FileViews
from ingot_web.diffs.rules.parsing import parse, parse_file
from ingot_web.reviews.rules.file_views import note_views

from ..diffs.test_parsing import CHANGED
from ..forge import HOME, issue
from ..test_forms import ANSWERS, HEAD
from ..world import ANN

OTHER = CHANGED.replace("a.py", "b.py")
BINARY = "diff --git a/x.bin b/x.bin\nindex 1..2 100644\nBinary files a/x.bin and b/x.bin differ\n"
VIEWS = "/internal/repos/ann/demo/pulls/1/file-views"
PAGE = "/ann/demo/pulls/1/files"


def views_of(text, after="", before=None):
    """The views of the files of a diff of the commit ``after``, where what ``before`` has was looked at."""
    diff = parse(text)
    diff.after = after
    note_views(diff, {view.path: view.changes for view in before or ()})
    return [file.view for file in diff.files]


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("@@ -3,4 +3,4 @@ def f():", "@@ -9,4 +9,4 @@ def f():", True),
        ("@@ -3,4 +3,4 @@ def f():", "@@ -3,4 +3,4 @@ def g():", False),
        ("-old", "@@ -50,2 +50,2 @@\n-old", False),
        ("index 1..2", "index 1..3", True),
        ("+new", "+newer", False),
        ("-old", "-older", False),
        (" more", " less", False),
        ("100644", "100644\nold mode 100644\nnew mode 100755", False),
    ],
)
def test_a_mark_goes_when_the_changes_of_the_file_change(old, new, is_same):
    (view,) = views_of(CHANGED.replace(old, new), before=views_of(CHANGED))
    assert (view.is_same, view.is_outdated) == (is_same, not is_same)


def test_a_mark_is_of_one_file_wherever_it_stands():
    before = views_of(OTHER)
    assert [view.is_same for view in views_of(CHANGED + OTHER, before=before)] == [False, True]
    assert [view.is_same for view in views_of(OTHER + CHANGED, before=before)] == [True, False]
    (alone,) = parse_file(OTHER, 2, 1).files
    assert alone.digest == parse(OTHER + CHANGED).files[0].digest


def test_a_binary_file_is_looked_at_in_one_commit():
    before = views_of(BINARY, after="1" * 40)
    assert [views_of(BINARY, after=sha * 40, before=before)[0].is_same for sha in "12"] == [True, False]


@pytest.mark.parametrize(("contents", "is_same"), [("2", True), ("3", False)])
def test_a_binary_file_whose_contents_are_named_stays_looked_at_in_other_commits(contents, is_same):
    def text(after):
        return BINARY.replace("1..2", f"{'1' * 40}..{after * 40}")

    before = views_of(text("2"), after="1" * 40)
    (view,) = views_of(text(contents), after="2" * 40, before=before)
    assert (view.is_same, view.is_outdated) == (is_same, not is_same)


@pytest.mark.parametrize("ids", ["1..2", f"{'1' * 40}..{'2' * 40}"])
def test_a_file_whose_type_changed_is_looked_at_as_a_whole(ids):
    head = "diff --git a/x b/x\n"
    gone = f"{head}deleted file mode 100644\nindex {ids}\nBinary files a/x and /dev/null differ\n"
    link = f"{head}new file mode 120000\nindex 0..3\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+there\n"
    before = views_of(gone + link, after="1")
    assert [view.is_same for view in views_of(gone + link, after="1", before=before)] == [True, True]
    other = views_of(gone + link.replace("there", "here"), after="2", before=before)
    assert [view.is_outdated for view in other] == [True, True]
    (alone,) = parse_file(gone + link, 1, 1).files
    assert alone.digest == parse(OTHER + gone + link).files[1].digest


@pytest.fixture
def forge(forge):
    facts = {"pull_request": {"merged": False, "draft": False}, "base": {"ref": "main"}, "head": HEAD}
    pull = issue(merged=False, mergeable=True, **facts)
    forge.answers |= ANSWERS | {f"{HOME}/pulls/1": pull, f"{HOME}/pulls/1.diff": (CHANGED + OTHER).encode()}
    forge.answers[f"{HOME}/pulls/1/comments"] = []
    forge.internal = {f"GET {VIEWS}": FileViews(), f"PUT {VIEWS}": None}
    return forge


def boxes(html):
    """Of each file of a page whether it is open, and its badge."""
    return [
        (
            bool(opened),
            badge.group(1) if (badge := re.search(r'class="badge[^"]*">([^<]+)<', summary)) else "",
        )
        for opened, summary in re.findall(
            r'<details class="box file"( open)?[^>]*>\s*<summary[^>]*>(.*?)</summary>', html, re.DOTALL
        )
    ]


async def test_a_file_is_marked_as_viewed_and_closed_until_it_changes(pages, forge):
    first, second = views_of(CHANGED + OTHER)
    shown = (await pages.get(PAGE, ANN)).text
    assert boxes(shown) == [(True, ""), (True, "")]
    answer = await pages.submit(shown, "Mark as viewed", to="/viewed")
    assert answer.headers["location"].startswith(f"{PAGE}?style=unified#diff-")
    assert forge.calls[-1] == ("PUT", VIEWS)
    forge.internal[f"GET {VIEWS}"] = FileViews(changes={first.path: first.changes, second.path: "0" * 64})
    shown = (await pages.get(PAGE, ANN)).text
    assert boxes(shown) == [(False, "Viewed"), (True, "Changed since you viewed it")]
    assert 'name="forget" value="1" aria-pressed="true" aria-label="Mark as viewed: src/a.py"' in shown
    assert '<button class="quiet" aria-pressed="false" aria-label="Mark as viewed: src/b.py"' in shown
    assert boxes((await pages.get(f"{PAGE}?at=1R4", ANN)).text)[0] == (True, "Viewed"), "one comments there"


async def test_nobody_marks_what_is_not_shown_whole_or_without_an_account(pages, forge):
    for page, caller in ((PAGE, None), (f"{PAGE}?w=1", ANN)):
        shown = (await pages.get(page, caller)).text
        assert ("src/a.py" in shown, "/viewed" in shown) == (True, False)
    del forge.internal[f"GET {VIEWS}"]
    assert "/viewed" not in (await pages.get(PAGE, ANN)).text, "issues of an older release keeps no marks"


async def test_a_form_leads_to_no_anchor_that_its_sender_made_up(pages, forge):
    answer = await pages.submit(PAGE, "Mark as viewed", to="/viewed", anchor="x\r\ny: z")
    assert answer.headers["location"] == f"{PAGE}?style=unified"
