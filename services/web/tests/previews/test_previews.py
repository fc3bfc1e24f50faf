"""Forms with JavaScript: htmx gets previews and errors as parts of a page, and inserts them."""

import time

import pytest

from ..forge import HOME
from ..test_forms import ANSWERS, HEAD, WRITTEN
from ..world import ANN

IN_PLACE = {"HX-Request": "true"}
COMMENTS = "/ann/demo/issues/1/comments"
SHOWN = {"commit_id": HEAD["sha"], "base_branch": "main", "merge_base": ""}
WITH_PREVIEW = [path for path in WRITTEN if "/releases/" not in path]


async def send_in_place(pages, path, *, shown="", **fields):
    """Return the answer to htmx for a form on the page with the path ``shown``."""
    form = {"body": "*words*", "title": "t", **fields}
    form.setdefault("token", pages.form_token(ANN, at=time.time()))
    return await pages.post(path, form, ANN, **IN_PLACE, **{"HX-Current-URL": f"http://forge{shown}"})


def is_part(answer):
    return "<html" not in answer.text and answer.headers["vary"] == "HX-Request"


@pytest.mark.parametrize("path", WITH_PREVIEW)
async def test_a_preview_and_a_refusal_are_parts_for_the_form(pages, forge, path):
    forge.answers |= ANSWERS
    shown = await send_in_place(pages, path, preview="1")
    assert (shown.status_code, is_part(shown), "<p>*words*</p>" in shown.text) == (200, True, True)
    assert "<form" not in shown.text
    forge.refuses = 422
    refused = await send_in_place(pages, path, **SHOWN)
    assert (refused.status_code, is_part(refused)) == (422, True)
    assert '<div class="notice bad" role="alert"><p>refused</p></div>' in refused.text


async def test_a_form_in_place_needs_its_token_too(pages, forge):
    for token in ("", "1.0.0"):
        refused = await send_in_place(pages, COMMENTS, token=token)
        assert (refused.status_code, is_part(refused), forge.sent) == (403, True, [])
    other = await pages.post(COMMENTS, {"body": "x"}, ANN, origin="http://evil", **IN_PLACE)
    assert (other.status_code, forge.sent) == (403, [])


async def test_every_form_with_a_preview_goes_where_it_goes_without_javascript(pages, forge):
    forge.answers |= ANSWERS | {f"{HOME}/labels": []}
    for path in (
        "issues/new",
        "issues/1",
        "pulls/1",
        "pulls/1/files?at=1R1",
        "comments/5",
        "pulls/1/comments/5",
        "compare/main...topic",
    ):
        page = (await pages.get(f"/ann/demo/{path}", ANN)).text
        forms = [form.partition("</form>")[0] for form in page.split("<form")[1:]]
        with_preview = [form for form in forms if 'name="preview"' in form]
        assert with_preview, path
        for form in with_preview:
            action = form.split('action="')[1].partition('"')[0]
            assert f'hx-post="{action}"' in form
            assert 'class="outcome"' in form
