"""Settings of a repository as pages show them."""

import time

import pytest

from .forge import ANN_USER, HOME
from .world import ANN


@pytest.mark.parametrize(
    ("permission", "badge"),
    [({"permission": "write"}, ">Read and write<"), ({"permission": "new"}, ">new<"), ({}, "")],
)
async def test_a_collaborator_is_shown_whatever_repos_says_of_the_permission(pages, forge, permission, badge):
    forge.answers[f"{HOME}/collaborators"] = [ANN_USER | permission]
    shown = await pages.get("/ann/demo/settings/collaboration", ANN)
    assert (shown.status_code, "Remove ann" in shown.text) == (200, True)
    assert badge in shown.text
    assert ('class="badge"' in shown.text) is bool(badge)


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("/ann/demo/settings/collaboration", {"permission": "read"}),
        ("/ann/demo/branches/delete", {}),
    ],
)
async def test_a_form_without_a_name_is_its_page_with_what_is_wrong(pages, forge, page, form):
    answer = await pages.post(page, form | {"token": pages.form_token(ANN, at=time.time())}, ANN)
    assert (answer.status_code, "name: is empty" in answer.text) == (
        422,
        True,
    )
    assert "<form" in answer.text
    assert not forge.sent
