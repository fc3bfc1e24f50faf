"""Comments on lines of a pull request as they are changed and removed on pages."""

import re

import pytest

from ..forge import ANN_USER, HOME, MOMENT
from ..test_forms import ANSWERS, COMMENT_ON_LINE, SUGGESTION
from ..world import ANN, BOB

PAGE, PATH = "/ann/demo/pulls/1/comments/5", f"{HOME}/pulls/comments/5"
FILES = "/ann/demo/pulls/1/files"


@pytest.mark.parametrize(
    ("query", "back"),
    [
        ("?back=files&style=split", f"{FILES}?style=split"),
        ("?back=3", "/ann/demo/pulls/1?page=3"),
        ("?back=//evil.example&style=x", "/ann/demo/pulls/1"),
        ("", "/ann/demo/pulls/1"),
    ],
)
async def test_a_comment_on_a_line_is_changed_and_removed_where_it_was_read(pages, forge, query, back):
    forge.answers[PATH] = COMMENT_ON_LINE | {"body": "a\n<b>"}
    changed = await pages.submit(f"{PAGE}{query}", "Save comment", to="/comments/5")
    assert changed.headers["location"] == f"{back}#pullrequestreviewcomment-5"
    removed = await pages.submit(f"{PAGE}{query}", "Delete comment", to="/comments/5/delete")
    assert removed.headers["location"] == back
    assert forge.sent == [("PATCH", PATH, {"body": "a\n<b>"}), ("DELETE", PATH, {})]


async def test_a_preview_remembers_from_which_page_the_form_came(pages, forge):
    forge.answers[PATH] = COMMENT_ON_LINE
    page = f"{PAGE}?back=files&style=split"
    shown = await pages.submit(page, "Preview", to="/comments/5", body="so")
    assert ("<p>so</p>" in shown.text, forge.sent) == (True, [])
    changed = await pages.submit(shown.text, "Save comment", to="/comments/5")
    assert changed.headers["location"] == f"{FILES}?style=split#pullrequestreviewcomment-5"


@pytest.mark.parametrize(("page", "back"), [(f"{FILES}?style=split", "files"), ("/ann/demo/pulls/1", "1")])
async def test_who_may_change_a_comment_on_a_line_finds_the_way_to_its_form(pages, forge, page, back):
    """Ann has written the second one, and administers the repository at first."""
    forge.answers |= ANSWERS | {
        f"{HOME}/pulls/1/comments": [
            SUGGESTION | {"user": ANN_USER | {"login": "bob"}},
            SUGGESTION | {"id": 6},
        ],
        f"{HOME}/issues/1/timeline": [
            {
                "id": 3, "type": "review", "review_id": 7, "user": ANN_USER, "body": "", "created_at": MOMENT,
                "ref_commit_sha": "", "ref_issue": None,
            }
        ],
    }  # fmt: skip

    async def ways(caller):
        text = (await pages.get(page, caller)).text
        assert text.count('id="pullrequestreviewcomment-') == 2
        links = re.findall(r'href="/ann/demo/pulls/1/comments/(\d)\?back=(\w+)&amp;style=\w+"', text)
        assert {place for _, place in links} <= {back}
        return [int(number) for number, _ in links]

    own = forge.answers[HOME]
    assert await ways(ANN) == [5, 6]
    forge.answers[HOME] = own | {"permissions": {"admin": False, "push": True, "pull": True}}
    assert (await ways(ANN), await ways(BOB), await ways(None)) == ([6], [5], [])
    forge.answers[HOME] = own | {"archived": True}
    assert await ways(ANN) == []


async def test_a_comment_on_a_line_of_something_else_has_no_form(pages, forge):
    forge.answers[PATH] = COMMENT_ON_LINE
    assert (await pages.get(PAGE, ANN)).status_code == 200
    assert (await pages.get("/ann/demo/pulls/11/comments/5", ANN)).status_code == 404
    forge.failures[PATH] = 404
    assert (await pages.get(PAGE, ANN)).status_code == 404
    assert (await pages.get(PAGE)).status_code == 401
