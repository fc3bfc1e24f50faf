"""Releases as they are published and changed on pages."""

import time

import msgspec
import pytest

from ..forge import HOME
from ..test_forms import RELEASE
from ..world import ANN

NEW, EDIT = "/ann/demo/releases/new", "/ann/demo/releases/edit/v1"
ASSETS = f"{HOME}/releases/1/assets"


async def _send(pages, path, **fields):
    fields["token"] = pages.form_token(ANN, at=time.time())
    files = [("files", (f"{name}.zip", name.encode())) for name in "ab"]
    return await pages.client.post(path, data=fields, files=files, headers=pages.callers.headers(ANN))


async def test_a_release_is_published_with_its_files(pages, forge):
    forge.answers[f"POST {HOME}/releases"] = RELEASE
    answer = await _send(pages, NEW, tag="v1", target="main", name="One", body="x\r\ny", prerelease="1")
    assert answer.headers["location"] == "/ann/demo/releases"
    (_, _, body), *files = forge.sent
    assert body == {
        "tag_name": "v1", "target_commitish": "main", "name": "One", "body": "x\ny", "draft": False,
        "prerelease": True,
    }  # fmt: skip
    assert files == [("POST", ASSETS, b"a"), ("POST", ASSETS, b"b")]


async def test_a_release_whose_files_are_refused_is_there_and_its_form_is_shown(pages, forge):
    forge.answers |= {f"POST {HOME}/releases": RELEASE, f"{HOME}/releases/tags/v1": RELEASE}
    forge.failures[ASSETS] = 413
    answer = await _send(pages, NEW, tag="v1")
    assert (answer.status_code, "not all of its files: refused" in answer.text) == (422, True)
    assert f'action="{EDIT}"' in answer.text


async def test_a_release_that_is_refused_says_so_in_words_of_its_form(pages, forge):
    fault = {"field": "tag_name", "code": "invalid", "message": "'v 1' cannot name a tag"}
    refusal = {"message": "tag_name: 'v 1' cannot name a tag", "url": "", "errors": [fault]}
    forge.refusals[f"{HOME}/releases"] = (422, msgspec.json.encode(refusal))
    refused = (await _send(pages, NEW, tag="v 1")).text
    assert ("<p>Tag: &#39;v 1&#39; cannot name a tag</p>" in refused, "tag_name" in refused) == (True, False)
    again = "Choose the files again."
    assert (again in refused, again in (await pages.get(NEW, ANN)).text) == (True, False)


async def test_a_release_is_changed_and_loses_a_file(pages, forge):
    assets = [{"id": 7, "name": "<a>.zip", "size": 3, "browser_download_url": "/a"}]
    forge.answers[f"{HOME}/releases/tags/v1"] = RELEASE | {"assets": assets}
    shown = (await pages.get(EDIT, ANN)).text
    assert "&lt;a&gt;.zip" in shown
    await pages.submit(shown, "Save release", to=EDIT, name="Two")
    removed = await pages.submit(shown, "Remove <a>.zip", to=EDIT)
    assert removed.headers["location"] == EDIT
    body = {"name": "Two", "body": "", "draft": False, "prerelease": True}
    assert forge.sent == [("PATCH", f"{HOME}/releases/1", body), ("DELETE", f"{ASSETS}/7", {})]


@pytest.mark.parametrize(("field", "label"), [("name", "Title"), ("body", "What is new")])
async def test_a_release_is_not_said_to_be_saved_without_what_the_api_leaves_as_it_is(
    pages, forge, field, label
):
    forge.answers[f"{HOME}/releases/tags/v1"] = RELEASE | {"body": "words"}
    refused = await pages.submit(EDIT, "Save release", to=EDIT, **{field: ""})
    assert (refused.status_code, forge.sent) == (422, [])
    assert f"“{label}” can be changed, but not emptied" in refused.text


async def test_a_draft_leads_to_no_tag_which_is_not_made_yet(pages, forge):
    for is_draft in (False, True):
        by = {"author": {"login": "ann"}, "created_at": "2026-01-02T00:00:00Z", "published_at": None}
        forge.answers[f"{HOME}/releases"] = [RELEASE | by | {"draft": is_draft}]
        shown = (await pages.get("/ann/demo/releases", ANN)).text
        assert ('href="/ann/demo/src/tag/v1"' in shown) is not is_draft
