"""Choices for an issue or pull request, in menus and on pages of their own."""

import pytest

from ingot_contracts.issues.labels import Label
from ingot_contracts.testing.forms import form_of

from ..forge import ANN_USER, HOME, issue, plain, pull
from ..world import ANN, BOB

ISSUE = f"{HOME}/issues/1"
PAGE = "/ann/demo/issues/1"
ZOE = ANN_USER | {"id": 60, "login": "zoe", "full_name": ""}


def label(number, **changed):
    return plain(Label(id=number, name=f"label {number}", color="ffffff"), **changed)


async def test_labels_are_chosen_among_all_and_those_beyond_the_list_stay(pages, forge):
    forge.answers |= {ISSUE: issue(labels=[label(1), label(9)]), f"{HOME}/labels": [label(1), label(2)]}
    page = f"{PAGE}/labels"
    form = form_of((await pages.get(page, ANN)).text, page, "Save")
    assert form.values["labels"] == ["1", "9"]
    saved = await pages.post(page, form.press("Save", labels=["1", "2", "9"]), ANN)
    assert saved.headers["location"] == PAGE
    assert forge.sent == [("PUT", f"{ISSUE}/labels", {"labels": [1, 2, 9]})]


async def test_an_archived_label_is_offered_only_where_the_issue_has_it(pages, forge):
    rows = [label(1, is_archived=True), label(2, is_archived=True)]
    forge.answers |= {ISSUE: issue(labels=rows[:1]), f"{HOME}/labels": rows}
    shown = (await pages.get(f"{PAGE}/labels", ANN)).text
    assert ("label 1" in shown, "label 2" in shown) == (True, False)


@pytest.mark.parametrize(
    ("kind", "fields", "change"),
    [
        ("assignees", {"assignees": ["ann", "zoe"]}, {"assignees": ["ann", "zoe"]}),
        ("milestone", {"milestone": "3"}, {"milestone": 3}),
        ("milestone", {"milestone": ""}, {"milestone": 0}),
        ("due", {"due": "2030-02-03"}, {"due_date": "2030-02-03T23:59:59Z"}),
        ("due", {"due": ""}, {"unset_due_date": True}),
    ],
)
async def test_each_choice_changes_one_thing(pages, forge, kind, fields, change):
    forge.answers |= {
        ISSUE: issue(assignees=[ZOE], milestone={"id": 3, "title": "One", "due_on": None}),
        f"{HOME}/assignees": [ANN_USER],
    }
    await pages.submit(f"{PAGE}/{kind}", "Save", to=f"/{kind}", **fields)
    assert forge.sent == [("PATCH", ISSUE, change)]


async def test_reviews_are_requested_of_who_was_added_and_withdrawn_of_who_was_removed(pages, forge):
    requested = pull(requested_reviewers=[ZOE], requested_reviewers_teams=[{"id": 1, "name": "crew"}])
    forge.answers |= {
        ISSUE: issue(pull_request={"merged": False}),
        f"{HOME}/pulls/1": requested,
        f"{HOME}/reviewers": [ANN_USER, ANN_USER | {"id": 2, "login": "bob"}],
        f"{HOME}/teams": [{"id": 1, "name": "crew"}, {"id": 2, "name": "staff"}],
    }
    page = f"{PAGE}/reviewers"
    form = form_of((await pages.get(page, ANN)).text, page, "Save")
    assert form.values["reviewers"] == ["zoe", "@crew"]
    await pages.post(page, form.press("Save", reviewers=["bob", "@crew", "@staff"]), ANN)
    path = f"{HOME}/pulls/1/requested_reviewers"
    assert forge.sent == [
        ("POST", path, {"reviewers": ["bob"], "team_reviewers": ["staff"]}),
        ("DELETE", path, {"reviewers": ["zoe"], "team_reviewers": []}),
    ]


async def test_the_author_of_a_pull_request_is_no_reviewer_of_it(pages, forge):
    forge.answers |= {
        ISSUE: issue(pull_request={"merged": False}),
        f"{HOME}/pulls/1": pull(),
        f"{HOME}/reviewers": [ANN_USER],
    }
    assert "No other people have access" in (await pages.get(f"{PAGE}/reviewers", ANN)).text


@pytest.mark.parametrize(
    ("caller", "kind", "status"), [(ANN, "reviewers", 200), (BOB, "reviewers", 403), (ANN, "labels", 403)]
)
async def test_authors_without_write_access_choose_reviewers_alone(pages, forge, caller, kind, status):
    forge.answers[HOME]["permissions"]["push"] = False
    forge.answers |= {ISSUE: issue(pull_request={"merged": False}), f"{HOME}/pulls/1": pull()}
    assert (await pages.get(f"{PAGE}/{kind}", caller)).status_code == status


@pytest.mark.parametrize("caller", [ANN, None])
async def test_the_page_leads_to_choices_for_who_may_change_them(pages, forge, caller):
    shown = (await pages.get(PAGE, caller)).text
    for kind in ("labels", "assignees", "milestone", "due"):
        assert (f'hx-get="{PAGE}/{kind}"' in shown) is (caller is not None)
    forge.answers[HOME]["permissions"]["push"] = False
    assert 'hx-get="/ann/demo/issues/1/' not in (await pages.get(PAGE, ANN)).text


async def test_a_menu_gets_the_form_alone_and_a_refusal_in_it(pages, forge):
    part = {**pages.callers.headers(ANN), "HX-Request": "true"}
    shown = (await pages.client.get(f"{PAGE}/due", headers=part)).text
    assert (shown.count("<form"), "<html" in shown) == (1, False)
    forge.refuses = 422
    refused = await pages.submit(f"{PAGE}/due", "Save", to="/due", due="2030-02-03")
    assert (refused.status_code, 'value="2030-02-03"' in refused.text) == (422, True)


async def test_nothing_is_chosen_in_an_archived_repository(pages, forge):
    forge.answers[HOME]["archived"] = True
    assert (await pages.get(f"{PAGE}/labels", ANN)).status_code == 403


async def test_a_new_issue_gets_what_was_chosen(pages, forge):
    forge.answers |= {
        f"{HOME}/labels": [label(1)],
        f"{HOME}/assignees": [ANN_USER],
        f"{HOME}/milestones": [{"id": 3, "title": "One", "due_on": None}],
    }
    forge.changed = {"number": 1, "body": ""}
    chosen = {"title": "It flickers", "labels": "1", "assignees": "ann", "milestone": "3"}
    await pages.submit("/ann/demo/issues/new", "Create issue", to="/issues/new", **chosen)
    values = {"labels": [1], "assignees": ["ann"], "milestone": 3}
    assert forge.sent == [("POST", f"{HOME}/issues", {"title": "It flickers", "body": "", **values})]


async def test_a_list_of_an_account_asks_for_no_labels_of_organizations(pages, forge):
    await pages.get("/ann/demo/issues", ANN)
    assert not [target for target in forge.targets if "/orgs/" in target]
