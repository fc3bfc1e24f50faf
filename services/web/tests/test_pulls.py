"""Pull requests as they are merged on pages."""

import pytest

from .forge import HOME, issue
from .test_forms import HEAD
from .world import ANN


@pytest.mark.parametrize("draft", [True, False])
async def test_a_draft_has_words_in_place_of_the_form_that_merges(pages, forge, draft):
    forge.answers[f"{HOME}/pulls/1"] = issue(
        pull_request={"merged": False}, base={"ref": "main"}, head=HEAD, merged=False, mergeable=True, draft=draft
    )  # fmt: skip
    shown = (await pages.get("/ann/demo/pulls/1", ANN)).text
    assert ("/pulls/1/merge" in shown, "To merge it, take “WIP”" in shown) == (not draft, draft)
