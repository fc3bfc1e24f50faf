"""Pages of missing items keep the frame of their repository."""

import pytest

from ..forge import HOME
from ..world import ANN

TABS = 'href="/ann/demo/issues"'


@pytest.fixture
def forge(forge):
    for path in (
        "blame/nothing", "commits", "contents-ext/nothing", "git/refs/heads/nothing", "git/refs/tags/nothing",
        "git/commits/1234567", "git/commits/nothing", "issues/9", "pulls/9", "releases/tags/v9",
        "milestones/9",
    ):  # fmt: skip
        forge.failures[f"{HOME}/{path}"] = 404
    return forge


@pytest.mark.parametrize("caller", [None, ANN])
@pytest.mark.parametrize(
    "path",
    [
        "src/branch/main/nothing", "src/commit/1234567/a", "src/nothing", "blame/branch/main/nothing",
        "commits/branch/nothing", "commits/nothing", "commit/1234567",
        "issues/9", "pulls/9", "milestone/9",
    ],
)  # fmt: skip
async def test_the_page_of_a_missing_item_has_the_frame_of_its_repository(pages, path, caller):
    answer = await pages.get(f"/ann/demo/{path}", caller)
    assert (answer.status_code, TABS in answer.text) == (404, True)


async def test_the_page_of_a_hidden_repository_has_no_frame(pages, forge):
    forge.failures[HOME] = 404
    for path in ("src/branch/main/nothing", "src/commit/1234567/a", "commits/branch/nothing", "issues/9"):
        answer = await pages.get(f"/ann/demo/{path}", ANN)
        assert (answer.status_code, TABS in answer.text) == (404, False)
        assert "ann/demo" not in answer.text.replace(f"/ann/demo/{path}", "")
