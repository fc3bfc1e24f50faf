"""Pull requests as they are merged on pages."""

import re

import pytest

from ingot_contracts.testing.forms import form_of

from .forge import HOME, issue
from .test_forms import HEAD
from .world import ANN

PAGE = "/ann/demo/pulls/1"
RULE = {"reason": "the rule 'main' protects the branch: changes are requested", "overridable": True}


@pytest.fixture
def forge(forge):
    forge.answers[f"{HOME}/pulls/1"] = issue(
        pull_request={"merged": False}, base={"ref": "main"}, head=HEAD, merged=False, mergeable=True, draft=True
    )  # fmt: skip
    return forge


async def test_each_reason_against_a_merge_stands_beside_a_button_that_does_nothing(pages, forge):
    reasons = ["the title says that it is work in progress", "it is blocked by 1 open issue"]
    forge.answers[f"{HOME}/pulls/1/merge/refusals"] = [
        RULE, *({"reason": reason, "overridable": False} for reason in reasons)
    ]  # fmt: skip
    shown = (await pages.get(PAGE, ANN)).text

    for reason in reasons:
        assert f"{reason[:1].upper()}{reason[1:]}.</li>" in shown
    rule = "The rule &#39;main&#39; protects the branch: changes are requested"
    assert f'{rule}. <span class="muted">You may override that.</span></li>' in shown
    assert "take “WIP” from the beginning of the title" in shown
    assert re.search(r"<button[^>]* disabled[^>]*>Merge</button>", shown)
    assert "/pulls/1/merge" not in shown


async def test_who_may_override_the_rule_is_told_what_it_says_and_merges(pages, forge):
    forge.answers[f"{HOME}/pulls/1/merge/refusals"] = [RULE]
    await pages.submit(PAGE, "Merge", to="/pulls/1/merge", override="1")
    assert forge.sent[0][2]["force_merge"] is True


async def test_what_nothing_refuses_is_merged_without_overriding(pages, forge):
    shown = (await pages.get(PAGE, ANN)).text
    assert "Nothing refuses the merge" in shown
    assert 'name="override"' not in shown
    await pages.submit(shown, "Merge", to="/pulls/1/merge")
    assert forge.sent[0][2]["force_merge"] is False
    assert form_of(shown, "/pulls/1/merge", "Merge").action == "/ann/demo/pulls/1/merge"


async def test_what_a_merge_looks_at_anew_leaves_the_button_on(pages, forge):
    reason = {"reason": "the branches conflict", "overridable": False, "recorded": True}
    forge.answers[f"{HOME}/pulls/1/merge/refusals"] = [reason]
    shown = (await pages.get(PAGE, ANN)).text
    assert "What speaks against a merge" in shown
    assert "The branches conflict.</li>" in shown
    assert 'name="override"' not in shown
    await pages.submit(shown, "Merge", to="/pulls/1/merge")


@pytest.mark.parametrize("writes", [True, False])
async def test_issues_that_knows_no_reasons_leaves_the_form_to_who_may_push(pages, forge, writes):
    forge.failures[f"{HOME}/pulls/1/merge/refusals"] = 404
    forge.answers[HOME]["permissions"]["push"] = writes
    shown = (await pages.get(PAGE, ANN)).text
    assert "Nothing refuses the merge" not in shown
    assert ("/pulls/1/merge" in shown) is writes
