"""Settings of a repository as pages show them."""

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
