"""What people type about an issue."""

import pytest

from ingot_chassis.errors import Invalid
from ingot_contracts.testing.forms import form_of
from ingot_web.api.issue_facts import _issue_named

from .forge import ANN_USER, HOME, issue
from .world import ANN

FACTS = f"{HOME}/issues/1"


def _label(number):
    return {"id": number, "name": f"label {number}", "color": "ffffff", "description": ""}


async def test_a_date_is_set_and_everything_else_stays(pages, forge):
    closed = {"id": 5, "title": "Closed"}
    far = {**ANN_USER, "id": 60, "login": "zoe"}
    forge.answers |= {
        FACTS: issue(labels=[_label(1), _label(2), _label(3)], assignees=[far], milestone=closed),
        f"{HOME}/labels": [_label(1)],
        "/orgs/ann/labels": [_label(2), _label(4)],
        f"{HOME}/assignees": [ANN_USER],
    }
    page = "/ann/demo/issues/1/facts"
    form = form_of((await pages.get(page, ANN)).text, page, "Save")
    assert form.values["labels"] == ["1", "2", "3"]
    await pages.post(page, form.press("Save", due="2030-02-03"), ANN)

    change = {"assignees": ["zoe"], "milestone": 5, "due_date": "2030-02-03T23:59:59Z"}
    assert sorted(forge.sent) == [("PATCH", FACTS, change), ("PUT", f"{FACTS}/labels", {"labels": [1, 2, 3]})]
    assert "label 4" in (await pages.get(page, ANN)).text


async def test_who_only_reads_is_led_to_times_where_they_are_tracked(pages, forge):
    forge.answers[HOME]["permissions"]["push"] = False
    for tracked, words in ((True, "Time, subscription"), (False, "Subscription")):
        forge.answers[HOME]["internal_tracker"] = {"enable_time_tracker": tracked}
        shown = (await pages.get("/ann/demo/issues/1", ANN)).text
        assert f'/ann/demo/issues/1/facts">{words}</a>' in shown


async def test_what_the_repository_does_not_track_has_no_form(pages, forge):
    page, both = "/ann/demo/issues/1/facts", ["Blocked by", "Time spent"]
    for off, shown in (((), both), (("dependencies",), both[1:]), (("times",), both[:1])):
        forge.failures = {f"{FACTS}/{name}": 404 for name in off}
        text = (await pages.get(page, ANN)).text
        assert [title for title in both if title in text] == shown
        assert (await pages.get("/ann/demo/issues/1", ANN)).status_code == 200


@pytest.mark.parametrize(
    ("text", "named"), [("#3", (3, "", "")), ("3", (3, "", "")), ("ann/demo#12", (12, "ann", "demo"))]
)
def test_an_issue_is_named_by_its_number(text, named):
    assert tuple(_issue_named(text).values()) == named


@pytest.mark.parametrize("text", ["", "#", "#x", "ann/demo", "#-1", "#٣", "#" + "9" * 5000])
def test_what_names_no_issue_is_refused(text):
    with pytest.raises(Invalid):
        _issue_named(text)
