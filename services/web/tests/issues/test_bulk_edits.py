"""Many issues are selected in their list and changed by one form."""

import re

import pytest

from ingot_contracts.issues.bulk_edits import EditOutcome, EditOutcomes
from ingot_contracts.testing.forms import form_of

from ..forge import ANN_USER, HOME, issue, repository
from ..world import ANN, BOB

EDITS = "POST /internal/repos/ann/demo/issues/edits"
LISTS = ["/ann/demo/issues", "/ann/demo/pulls"]
READER = {"admin": False, "push": False, "pull": True}


def answer(forge, *outcomes):
    """Let issues answer with these outcomes. Return the bodies of the requests."""
    forge.internal[EDITS] = EditOutcomes(outcomes=list(outcomes))
    return forge.bodies


def fill(forge):
    forge.answers |= {
        f"{HOME}/issues": [issue(number=1, title="One"), issue(number=2, title="Two", user=ANN_USER)],
        f"{HOME}/labels": [{"id": 5, "name": "bug", "color": "ffffff"}],
        f"{HOME}/milestones": [{"id": 3, "title": "Next", "due_on": None}],
        f"{HOME}/assignees": [ANN_USER],
    }


@pytest.mark.parametrize("page", LISTS)
async def test_rows_are_selected_and_lead_to_the_form_with_the_filter_of_the_list(pages, forge, page):
    fill(forge)
    shown = (await pages.get(f"{page}?labels=bug", ANN)).text
    form = form_of(shown, f"{page}/edit", "Edit selected")
    assert form.values == {"back": ["state=open&labels=bug"], "number": []}
    assert 'aria-label="Select One"' in shown
    edit = (await pages.get(f"{page}/edit?number=1&number=2&back=state%3Dopen%26labels%3Dbug", ANN)).text
    values = form_of(edit, f"{page}/edit", "Apply changes").values
    assert (values["number"], values["back"]) == (["1", "2"], ["state=open&labels=bug"])


@pytest.mark.parametrize("page", LISTS)
async def test_one_call_changes_what_was_selected_and_the_list_says_so_once(pages, forge, page):
    fill(forge)
    bodies = answer(forge, EditOutcome(number=1, changed=True), EditOutcome(number=2))
    edit = (await pages.get(f"{page}/edit?number=1&number=2&back=state%3Dall%26labels%3Dbug", ANN)).text
    pressed = form_of(edit, f"{page}/edit", "Apply changes").press(
        "Apply changes",
        state="closed",
        labels_how="add",
        labels=["5"],
        assignees_how="remove",
        assignees=["ann"],
        milestone="0",
    )
    done = await pages.post(f"{page}/edit", pressed, ANN)
    assert done.status_code == 303, done.text
    assert bodies == [
        {
            "numbers": [1, 2],
            "is_pull": page.endswith("pulls"),
            "state": "closed",
            "milestone": 0,
            "labels": {"how": "add", "ids": [5]},
            "assignees": {"how": "remove", "logins": ["ann"]},
        }
    ]
    location = done.headers["location"]
    assert location.startswith(f"{page}?state=all&labels=bug&")
    words = "Changed: #1. No change needed: #2."
    assert [words in (await pages.get(location, ANN)).text for _ in range(2)] == [True, False]


async def test_refusals_are_shown_by_reason_and_the_refused_stay_selected(pages, forge):
    fill(forge)
    answer(
        forge,
        EditOutcome(number=1, changed=True),
        EditOutcome(number=2, refusal="it is blocked"),
        EditOutcome(number=3, refusal="it is blocked"),
    )
    shown = await pages.submit("/ann/demo/issues/edit?number=1", "Apply changes", to="/edit", state="closed")
    assert shown.status_code == 200
    assert "Changed: #1." in shown.text
    assert "#2, #3: it is blocked" in shown.text
    again = form_of(shown.text, "/edit", "Apply changes").values
    assert (again["number"], again["state"]) == (["2", "3"], ["closed"])


async def test_a_change_that_was_refused_for_each_is_no_success(pages, forge):
    fill(forge)
    answer(forge, EditOutcome(number=1, refusal="it is blocked"))
    shown = await pages.submit("/ann/demo/issues/edit?number=1", "Apply changes", to="/edit", state="closed")
    assert (shown.status_code, "#1: it is blocked" in shown.text) == (422, True)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"number": [], "state": "closed"}, "select 1 to 50 rows"),
        ({}, "choose at least one change"),
        ({"assignees_how": "set", "assignees": ["ann"] * 11}, "more values than one change can have"),
    ],
)
async def test_a_form_without_a_change_is_refused(pages, forge, values, words):
    fill(forge)
    bodies = answer(forge)
    refused = await pages.submit("/ann/demo/issues/edit?number=1", "Apply changes", to="/edit", **values)
    assert (refused.status_code, words in refused.text, bodies) == (422, True, [])


async def test_a_menu_of_the_list_gets_the_form_alone(pages, forge):
    fill(forge)
    part = {**pages.callers.headers(ANN), "HX-Request": "true"}
    shown = (await pages.client.get("/ann/demo/issues/edit?number=1", headers=part)).text
    assert (shown.count("<form"), "<html" in shown) == (1, False)


async def test_readers_select_their_own_and_change_the_state_only(pages, forge):
    fill(forge)
    forge.answers[HOME] = repository(permissions=READER)
    forge.answers[f"{HOME}/issues"][0]["user"] = ANN_USER | {"login": "zoe"}
    shown = (await pages.get("/ann/demo/issues", ANN)).text
    assert re.findall(r'name="number" value="(\d+)"', shown) == ["2"]
    assert "Edit selected" not in (await pages.get("/ann/demo/issues", BOB)).text
    form = form_of((await pages.get("/ann/demo/issues/edit?number=2", ANN)).text, "/edit", "Apply changes")
    assert form.values.keys() == {"token", "back", "number", "state"}


async def test_nobody_selects_rows_without_an_account_or_in_an_archived_repository(pages, forge):
    fill(forge)
    assert 'name="number"' not in (await pages.get("/ann/demo/issues")).text
    assert (await pages.get("/ann/demo/issues/edit?number=1")).status_code == 401
    forge.answers[HOME] = repository(archived=True)
    assert 'name="number"' not in (await pages.get("/ann/demo/issues", ANN)).text
    shown = (await pages.get("/ann/demo/issues/edit?number=1", ANN)).text
    assert ("cannot be changed" in shown, "Apply changes" in shown) == (True, False)


@pytest.mark.parametrize(("page", "unit"), [(LISTS[0], "has_issues"), (LISTS[1], "has_pull_requests")])
async def test_the_form_is_of_units_that_the_repository_has(pages, forge, page, unit):
    forge.answers[HOME] = repository(**{unit: False})
    assert (await pages.get(f"{page}/edit?number=1", ANN)).status_code == 404
