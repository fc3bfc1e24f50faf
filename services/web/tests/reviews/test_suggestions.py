"""Suggestions in comments: read, put in place, and committed by a form."""

from base64 import b64encode

import pytest

from ingot_web.reviews.rules.suggestions import (
    has_lines,
    is_same_line,
    lines_commented,
    suggestion_draft,
    suggestion_in,
    with_draft,
    with_suggestion,
)

from ..diffs.test_parsing import CHANGED
from ..forge import ANN_USER, HOME, MOMENT, issue
from ..world import ANN, BOB

PULL, FORK = f"{HOME}/pulls/1", "/repos/bob/demo"
HUNK = "@@ -2,3 +2,3 @@\n two\n-3\n+three\n+four"
FILE = f"{FORK}/contents-ext/src/a.py"


@pytest.mark.parametrize(
    ("body", "suggested"),
    [
        ("So:\r\n```suggestion\r\none\r\n\r\ntwo\r\n```\r\n", "one\n\ntwo"),
        ("```suggestion\n```", ""),
        ("~~~~ suggestion\n~~~\nx\n~~~~", "~~~\nx"),
        ("```suggestion\na < b\n```\n<b>", "a < b"),
        ("So:\r```suggestion\rx\r```", "x"),
        ("```suggestion\nnot closed", None),
        ("```python\nx\n```", None),
        ("<!--\n```suggestion\nevil\n```\n-->\n\n```suggestion\ngood\n```", None),
        ("<script>\n\n```suggestion\nevil\n```\n</script>", None),
        ("````markdown\n```suggestion\nevil\n```\n````\n\n```suggestion\ngood\n```", None),
        ("~~~\n```suggestion\nevil\n```\n~~~", None),
        ("- ~~~\n- ```\n```suggestion\nevil\n```", None),
        ("1. So:\n   ```suggestion\n   x\n   ```", None),
        ("> ```suggestion\n> x\n> ```", None),
        ("```suggestion\none\n```\n\n```suggestion\ntwo\n```", None),
        ("", None),
        ("a `suggestion`", None),
        ("    ```suggestion\nx\n```", None),
    ],
)
def test_a_block_of_that_name_is_a_suggestion(body, suggested):
    assert suggestion_in(body) == suggested


@pytest.mark.parametrize("line", ["x", "", "    ", "a `b` ```c", "~~~", "<b>", "- x"])
def test_the_draft_of_a_suggestion_suggests_its_line(line):
    assert suggestion_in(suggestion_draft(line)) == line


@pytest.mark.parametrize(
    ("body", "both"),
    [
        ("", "```suggestion\nx\n```"),
        ("So:\n", "So:\n\n```suggestion\nx\n```"),
        ("```suggestion\nmine\n```", "```suggestion\nmine\n```"),
    ],
)
def test_a_draft_comes_below_what_was_written_once(body, both):
    assert with_draft(body, suggestion_draft("x")) == both


@pytest.mark.parametrize(
    ("content", "number", "suggestion", "changed"),
    [
        (b"a\nb\nc\n", 2, "x\ny", b"a\nx\ny\nc\n"),
        (b"a\r\nb\r\n", 1, "x\ny", b"x\r\ny\r\nb\r\n"),
        (b"a\nb", 2, "x", b"a\nx"),
        (b"a\nb\n", 1, "", b"b\n"),
        (b"\xff\nb\n", 2, "\u00e9", b"\xff\n\xc3\xa9\n"),
    ],
)
def test_the_other_lines_stay_as_they_are(content, number, suggestion, changed):
    assert with_suggestion(content, number, suggestion) == changed


@pytest.mark.parametrize(
    ("hunk", "lines"),
    [
        ("@@ -1,3 +1,3 @@ def a\n one\r\n-2\n+two\n+", ["one", "two", ""]),
        ("@@ -1 +0,0 @@\n-one", []),
        ("@@", []),
        ("", []),
        ("@@\n+" + "x" * 3995, ["x" * 3995]),
        ("@@\n+" + "x" * 3996, []),
    ],
)
def test_a_hunk_has_the_lines_above_what_is_commented(hunk, lines):
    assert lines_commented(hunk) == lines


@pytest.mark.parametrize(
    ("number", "lines", "there"),
    [
        (2, ["a", "b"], True), (1, ["a"], True), (3, ["b", "c"], False), (1, ["b", "a"], False),
        (4, ["a"], False),
    ],
)  # fmt: skip
def test_lines_are_counted_from_one(number, lines, there):
    assert has_lines(b"a\r\nb\na", number, lines) is there


TWINS = b"f {\n  a\n}\n\ng {\n  b\n}\n"
LONG = b"\n".join(b"%d" % number for number in range(30))


@pytest.mark.parametrize(
    ("before", "after", "number", "same"),
    [
        (TWINS, TWINS, 3, True),
        (TWINS, TWINS.replace(b"b", b"c"), 3, True),
        (TWINS, TWINS.replace(b"a", b"b"), 7, True),
        (TWINS, b"h {\n  c\n}\n\n" + TWINS, 3, False),
        (TWINS, b"h {\n  c\n}\n\n" + TWINS, 7, False),
        (TWINS, TWINS.replace(b"f {\n  a\n}\n\n", b""), 3, False),
        (b"a\n}\nb", b"c\n}\nd", 2, False),
        (LONG, LONG.replace(b"2\n", b"x\n"), 10, True),
        (LONG, LONG.replace(b"\n5\n", b"\nx\n").replace(b"\n20\n", b"\ny\n"), 10, True),
        (LONG, LONG.replace(b"\n5\n", b"\n").replace(b"\n20\n", b"\ny\n"), 10, False),
        (b"y\n" + b"x\n" * 8 + b"x\ny\n" * 45, b"z\n" + b"x\n" * 97 + b"w\n", 6, True),
        (b"y\n" + b"x\n" * 100 + b"y\n", b"z\n" + b"x\n" * 100 + b"z\n", 6, False),
        (b"x\n" * 600, b"y\n" + b"x\n" * 598 + b"y\n", 10, False),
    ],
)
def test_a_line_is_told_from_its_twins(before, after, number, same):
    assert is_same_line(before, after, number) is same


@pytest.fixture
def forge(forge):
    head = {
        "ref": "topic", "sha": "1" * 40,
        "repo": {"full_name": "bob/demo", "archived": False, "owner": {"login": "bob"}},
    }  # fmt: skip
    forge.answers |= {
        PULL: issue(
            pull_request={"merged": False, "draft": False},
            base={"ref": "main"},
            head=head,
            merged=False,
            mergeable=True,
        ),
        f"{PULL}.diff": CHANGED.encode(),
        f"{PULL}/comments": [_comment()],
        f"POST {FORK}/contents": {"commit": {"sha": "3" * 40}},
        FILE: _file(b"one\ntwo\nthree\nfour\n"),
    }
    return forge


def _comment(**changed):
    return {
        "id": 5, "path": "src/a.py", "position": 4, "original_position": 0, "diff_hunk": HUNK,
        "user": ANN_USER, "commit_id": "1" * 40, "pull_request_review_id": 7, "resolver": None,
        "outdated": False, "created_at": MOMENT, "body": "```suggestion\nfive\n```", **changed,
    }  # fmt: skip


def _file(content):
    encoded = b64encode(content).decode()
    return {"file_contents": {"type": "file", "sha": "2" * 40, "content": encoded}}


async def test_a_suggestion_is_committed_to_the_branch_it_is_about(pages, forge):
    answer = await pages.submit(
        "/ann/demo/pulls/1/files", "Commit suggestion", to="/comments/5/apply", caller=BOB
    )
    page, _, fragment = answer.headers["location"].partition("#")
    crafted, _, proof = page.partition("&proof=")
    assert crafted == f"/ann/demo/pulls/1/files?style=unified&committed={'3' * 40}"
    assert fragment == "thread-5"
    for address, caller, is_said in ((page, BOB, True), (page, ANN, False), (crafted, BOB, False)):
        shown = (await pages.get(address, caller)).text
        assert (f"/bob/demo/commit/{'3' * 40}" in shown) is is_said
    part = (await pages.get(f"{page}&w=1&file=1&page=2", BOB)).text
    link = f"?style=unified&amp;committed={'3' * 40}&amp;proof={proof}&amp;file=1&amp;page=2&amp;w=1"
    assert f'href="{link}">load' in part
    [(method, path, body)] = forge.sent
    content = b64encode(b"one\ntwo\nthree\nfive\n").decode()
    change = {"operation": "update", "path": "src/a.py", "sha": "2" * 40, "content": content}
    assert (method, path) == ("POST", f"{FORK}/contents")
    assert body == {
        "branch": "topic", "message": "Apply a suggestion of ann to src/a.py", "files": [change],
    }  # fmt: skip


async def test_the_lines_that_will_be_written_are_shown_beside_the_button(pages, forge):
    path, body = "/ann/demo/pulls/1/files", "```suggestion\n<b>five</b>\n\n six\n```"
    forge.answers[f"{PULL}/comments"] = [_comment(body=body), _comment(id=6, body="```suggestion\n```")]
    forms = (await pages.get(path, BOB)).text.split('<form class="apply"')[1:]
    assert [form.count('class="add"') for form in forms] == [3, 0]
    assert '+&lt;b&gt;five&lt;/b&gt;\n</span><span class="add">+\n</span><span class="add">+ six' in forms[0]
    assert "Line 4 is deleted" in forms[1]
    forge.answers[f"{PULL}/comments"] = [_comment(diff_hunk=hunk) for hunk in ("", "@@\n+" + "x" * 3996)]
    assert 'class="apply"' not in (await pages.get(path, BOB)).text
    forge.answers[f"{PULL}/comments"] = [_comment(body=body)]
    await pages.submit(path, "Commit suggestion", to="/comments/5/apply", caller=BOB)
    [(_, _, sent)] = forge.sent
    assert sent["files"][0]["content"] == b64encode(b"one\ntwo\nthree\n<b>five</b>\n\n six\n").decode()


@pytest.mark.parametrize(
    ("comment", "content", "status"),
    [
        ({}, b"one\ntwo\nthree\nother\n", 409),
        ({}, b"one\n", 409),
        ({}, b"one\nother\nthree\nfour\n", 409),
        ({"outdated": True}, b"one\ntwo\nthree\nfour\n", 409),
        ({"diff_hunk": ""}, b"one\ntwo\nthree\nfour\n", 409),
        ({"body": "```suggestion\nother\n```"}, b"one\ntwo\nthree\nfour\n", 409),
        ({"body": "why?"}, b"one\ntwo\nthree\nfour\n", 404),
        ({"id": 6}, b"one\ntwo\nthree\nfour\n", 404),
        ({"position": 0, "original_position": 4}, b"one\ntwo\nthree\nfour\n", 404),
    ],
)
async def test_a_suggestion_for_another_line_than_is_there_is_refused(pages, forge, comment, content, status):
    page = (await pages.get("/ann/demo/pulls/1/files", BOB)).text
    forge.answers |= {f"{PULL}/comments": [_comment(**comment)], FILE: _file(content)}
    answer = await pages.submit(page, "Commit suggestion", to="/comments/5/apply", caller=BOB)
    assert (answer.status_code, forge.sent) == (status, [])


@pytest.mark.parametrize(
    ("before", "status"),
    [
        (b"one\ntwo\nthree\nfour\nmore\n", 303),
        (b"zero\ntwo\nthree\nfour\n", 303),
        (b"two\nthree\nfour\nsix\n", 409),
        (b"four\nfour\nfour\nfour\nfive\n", 409),
        (None, 409),
    ],
)
async def test_a_suggestion_for_an_older_commit_is_for_the_same_line_of_it(pages, forge, before, status):
    older = "4" * 40
    comment = _comment(commit_id=older, diff_hunk="@@ -4 +4 @@\n four")
    forge.answers |= {f"{PULL}/comments": [comment], f"{FILE}?ref={older}": _file(before or b"")}
    if before is None:
        forge.failures[f"{FILE}?ref={older}"] = 404
    page = (await pages.get("/ann/demo/pulls/1/files", BOB)).text
    answer = await pages.submit(page, "Commit suggestion", to="/comments/5/apply", caller=BOB)
    assert (answer.status_code, len(forge.sent)) == (status, status == 303)


async def test_who_may_not_push_there_is_offered_nothing(pages, forge):
    pull = forge.answers[PULL]

    async def is_offered(caller):
        answer = await pages.get("/ann/demo/pulls/1/files", caller)
        assert (answer.status_code, "suggestion" in answer.text) == (200, True)
        return "Commit suggestion" in answer.text

    assert [await is_offered(caller) for caller in (ANN, BOB, None)] == [False, True, False]
    pull["head"]["repo"]["full_name"] = "ann/demo"
    assert await is_offered(ANN)
    pull["state"] = "closed"
    assert not await is_offered(ANN)
