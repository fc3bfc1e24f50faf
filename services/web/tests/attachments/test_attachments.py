"""Files that are added while a text is changed."""

import pytest

from ingot_contracts.testing.forms import form_of
from ingot_web.attachments.api import TEXT_WITHOUT_FILE

from ..forge import ANN_USER, HOME, issue
from ..test_forms import ANSWERS, COMMENT_ON_LINE
from ..world import ANN, World

REVIEW = f"{HOME}/pulls/1/reviews/7"
ON_LINE = ("/ann/demo/pulls/1/comments/5", "Save comment", f"{HOME}/pulls/comments/5", f"{HOME}/issues/1")
EDITS = (
    ("/ann/demo/issues/1/edit", "Save", f"{HOME}/issues/1", f"{HOME}/issues/1"),
    ("/ann/demo/comments/5", "Save comment", f"{HOME}/issues/comments/5", f"{HOME}/issues/comments/5"),
    ON_LINE,
)
"""The address of a form, its button, its change, and the owner of its files."""


@pytest.fixture
def forge(forge):
    forge.answers |= ANSWERS | {REVIEW: {"id": 7, "state": "COMMENT"}}
    return forge


def _form(page, address):
    """The form on a page that goes to the address, as text."""
    return next(form for form in page.split("<form")[1:] if f'action="{address}"' in form).partition(
        "</form>"
    )[0]


async def _send(pages, address, button, *, count=1):
    """With some files, as a browser does."""
    page = (await pages.get(address.removesuffix("/edit"), ANN)).text
    assert 'enctype="multipart/form-data"' in _form(page, address)
    form = form_of(page, address, button).press(button, body="see")
    files = [("files", (f"{number}.png", b"night", "image/png")) for number in range(count)]
    return await pages.client.post(address, data=form, files=files, headers=pages.callers.headers(ANN))


@pytest.mark.parametrize(("address", "button", "path", "owner"), EDITS)
async def test_files_are_added_to_a_text_that_is_changed_and_linked_in_it(
    pages, forge, address, button, path, owner
):
    forge.answers[f"POST {owner}/assets"] = {"id": 7, "name": "a.png", "browser_download_url": "/a"}
    assert (await _send(pages, address, button, count=2)).status_code == 303
    assert [call[:2] for call in forge.sent] == [("POST", f"{owner}/assets")] * 2 + [("PATCH", path)]
    assert forge.sent[2][2]["body"] == "see\n\n![a.png](/a)\n\n![a.png](/a)"


@pytest.mark.parametrize(("address", "button", "path", "owner"), EDITS)
async def test_a_change_that_is_refused_leaves_no_file_and_keeps_the_text(
    pages, forge, address, button, path, owner
):
    forge.answers[f"POST {owner}/assets"] = {"id": 7, "name": "a.png", "browser_download_url": "/a"}
    forge.refusals[path] = 422, b'{"message": "too long", "url": ""}'
    refused = await _send(pages, address, button)
    assert (refused.status_code, "too long" in refused.text) == (422, True)
    assert form_of(refused.text, address, button).values["body"] == ["see"]
    assert forge.sent[-1] == ("DELETE", f"{owner}/assets/7", {})


@pytest.mark.parametrize(("address", "button", "path", "owner"), EDITS)
async def test_a_site_without_files_says_so_and_changes_nothing(pages, forge, address, button, path, owner):
    forge.failures[f"{owner}/assets"] = 404
    refused = await _send(pages, address, button)
    assert (refused.status_code, "files are not kept on this site" in refused.text) == (422, True)
    assert path not in [call[1] for call in forge.sent]
    assert (await _send(pages, address, button, count=11)).status_code == 422


@pytest.mark.parametrize(
    ("author", "state", "push", "offered"),
    [
        ("ann", "COMMENT", False, True),
        ("bob", "COMMENT", True, True),
        ("bob", "COMMENT", False, False),
        ("ann", "PENDING", True, False),
    ],
)
async def test_a_comment_on_a_line_gets_files_from_who_may_add_them_once_its_review_is_sent(
    pages, forge, author, state, push, offered
):
    """``author`` is that of the pull request, ann that of the comment."""
    address, button, path, owner = ON_LINE
    forge.answers[f"{HOME}/pulls/1"] = forge.answers[f"{HOME}/pulls/1"] | {
        "user": ANN_USER | {"login": author}
    }
    forge.answers[HOME] = forge.answers[HOME] | {"permissions": {"admin": False, "push": push, "pull": True}}
    forge.answers |= {
        f"POST {owner}/assets": {"id": 7, "name": "a.png", "browser_download_url": "/a"},
        REVIEW: {"id": 7, "state": state},
        path: COMMENT_ON_LINE,
    }
    page = (await pages.get(address, ANN)).text
    assert ('type="file"' in page) is offered
    form = form_of(page, address, button).press(button, body="see")
    files = [("files", ("a.png", b"night", "image/png"))]
    answer = await pages.client.post(address, data=form, files=files, headers=pages.callers.headers(ANN))
    assert (answer.status_code, bool(forge.sent)) == ((303, True) if offered else (422, False))


FILE = {"id": 7, "name": "<b>.png", "size": 3, "browser_download_url": "/ann/demo/attachments/u"}
LISTS = (
    ("/ann/demo/comments/5", f"{HOME}/issues/comments/5"),
    ("/ann/demo/issues/1/facts", f"{HOME}/issues/1"),
)
"""A page that lists files, and to what they belong."""


@pytest.mark.parametrize(("page", "owner"), LISTS)
async def test_a_file_is_listed_and_removed_and_what_is_refused_is_said(pages, forge, page, owner):
    answer = forge.answers.get(owner) or issue()
    forge.answers[owner] = answer | {"assets": [FILE]}
    shown = (await pages.get(page, ANN)).text
    assert 'href="/ann/demo/attachments/u">&lt;b&gt;.png</a>' in shown
    forge.refuses = 403
    refused = await pages.submit(shown, "Remove <b>.png", to=page)
    assert (refused.status_code, 'role="alert"><p>refused' in refused.text) == (403, True)
    forge.refuses, forge.answers[owner] = 0, answer | {"assets": []}
    removed = await pages.submit(refused.text, "Remove <b>.png", to=page)
    assert (removed.status_code, removed.headers["location"].partition("?")[0]) == (303, page)
    assert [call[:2] for call in forge.sent] == [("DELETE", f"{owner}/assets/7")] * 2
    shown = (await pages.get(removed.headers["location"], ANN)).text
    assert ("Remove &lt;b&gt;.png" in shown, "<p>The file is removed.</p>" in shown) == (False, True)
    assert "The file is removed" not in (await pages.get(page, ANN)).text


LINK = "![<b\\>.png](http://forge/ann/demo/attachments/u)"
OTHER = "[b](http://forge/ann/demo/attachments/u2)"


@pytest.mark.parametrize(("page", "owner"), LISTS)
@pytest.mark.parametrize(
    ("body", "rest", "words"),
    [
        (f"see\n\n{LINK}", "see", "The file is removed, and so are the links to it in the text."),
        (f"{LINK}\n\n{OTHER}", OTHER, "The file is removed, and so are the links to it in the text."),
        (f'{LINK}\n<img src="{FILE["browser_download_url"]}">', f'<img src="{FILE["browser_download_url"]}">',
         "The file is removed. The text still has its address."),
        (OTHER, None, "The file is removed."),
        (LINK, "", "The file is removed, and so are the links to it in the text."),
    ],
)  # fmt: skip
async def test_with_a_file_its_links_go_out_of_its_text(pages, forge, page, owner, body, rest, words):
    is_issue = owner.endswith("/issues/1")
    answer = (forge.answers.get(owner) or issue()) | {"assets": [FILE], "body": body}
    forge.answers[owner] = answer | ({"content_version": 3} if is_issue else {})
    removed = await pages.submit(page, "Remove <b>.png", to=page)
    assert forge.sent[0] == ("DELETE", f"{owner}/assets/7", {})
    change = {"body": rest or ("" if is_issue else TEXT_WITHOUT_FILE)} | (
        {"content_version": 3} if is_issue else {}
    )
    assert forge.sent[1:] == ([] if rest is None else [("PATCH", owner, change)])
    assert f"<p>{words}</p>" in (await pages.get(removed.headers["location"], ANN)).text


@pytest.mark.parametrize(("page", "owner"), LISTS)
async def test_a_link_that_cannot_be_taken_out_of_a_text_is_said(pages, forge, page, owner):
    forge.answers[owner] = (forge.answers.get(owner) or issue()) | {"assets": [FILE], "body": LINK}
    forge.refusals[owner] = 409, b'{"message": "somebody changed the text", "url": ""}'
    refused = await pages.submit(page, "Remove <b>.png", to=page)
    assert refused.status_code == 422
    words = "the file was removed, but the text still links to it: somebody changed the text"
    assert f'role="alert"><p>{words}</p>' in refused.text


async def test_files_of_an_issue_are_removed_by_those_whom_issues_lets_change_it(pages, forge):
    page, rights = "/ann/demo/issues/1/facts", f"GET /internal{HOME}/issues/1/rights"
    forge.answers[f"{HOME}/issues/1"] = issue(assets=[FILE])
    for may_edit in (True, False):
        forge.internal[rights] = {"may_edit": may_edit}
        assert ("Remove &lt;b&gt;.png" in (await pages.get(page, ANN)).text) is may_edit


FORMS = (
    "/issues/new", "/issues/1", "/comments/5", "/pulls/1", "/pulls/1/files?at=1R4", "/compare/main...topic",
)  # fmt: skip


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("url", ["", "s3://files/ingot"])
async def test_files_are_asked_for_where_the_site_keeps_them(forge, path, url):
    world = World(forge, objects_url=url)
    shown = await world.get(f"/ann/demo{path}", ANN)
    assert shown.status_code == 200, shown.text
    assert (">Choose files.<" in shown.text, 'type="file"' in shown.text) == (bool(url),) * 2
    assert ("/facts#attachments" in shown.text) is (bool(url) and path in ("/issues/1", "/pulls/1"))
    await world.close()
