"""Milestones as they are changed on pages."""

import pytest

from ..forge import HOME
from ..world import ANN

MILESTONE = {
    "id": 3, "title": "One & two", "description": "x", "state": "open", "due_on": "2030-01-02T23:59:59Z",
    "open_issues": 1, "closed_issues": 0,
}  # fmt: skip


async def test_a_milestone_is_changed_closed_and_removed(pages, forge):
    path = f"{HOME}/milestones"
    forge.answers |= {path: [MILESTONE], f"{path}/3": MILESTONE}
    await pages.submit("/ann/demo/milestones/3/edit", "Save milestone", to="/3/edit", description="y")
    for button in ("Close", "Delete One & two"):
        await pages.submit("/ann/demo/milestones", button, to="/milestones/3")
    body = {"title": "One & two", "description": "y", "due_on": "2030-01-02T23:59:59Z"}
    assert forge.sent == [
        ("PATCH", f"{path}/3", body),
        ("PATCH", f"{path}/3", {"state": "closed"}),
        ("DELETE", f"{path}/3", {}),
    ]


@pytest.mark.parametrize("address", ["new", "3/edit"])
async def test_a_date_that_somebody_empties_is_none(pages, forge, address):
    forge.answers[f"{HOME}/milestones/3"] = MILESTONE
    button = "Create milestone" if address == "new" else "Save milestone"
    await pages.submit(f"/ann/demo/milestones/{address}", button, to=address, title="x", due="")
    assert forge.sent[0][2]["due_on"] == "0001-01-01T00:00:00Z"


@pytest.mark.parametrize("caller", [ANN, None])
async def test_the_address_of_a_milestone_leads_to_its_issues(pages, forge, caller):
    forge.answers[f"{HOME}/milestones/3"] = MILESTONE
    answer = await pages.get("/ann/demo/milestone/3", caller)
    assert answer.headers["location"] == "/ann/demo/issues?milestone=One+%26+two&state=all"


@pytest.mark.parametrize(
    ("changed", "overdue"),
    [
        ({}, False),
        ({"due_on": "2020-01-02T23:59:59Z"}, True),
        ({"due_on": "2020-01-02T23:59:59Z", "state": "closed"}, False),
    ],
)
async def test_a_milestone_shows_how_much_is_closed_and_what_is_overdue(pages, forge, changed, overdue):
    path = f"{HOME}/milestones"
    forge.answers[path] = [MILESTONE | {"open_issues": 2, "closed_issues": 1} | changed]
    shown = (await pages.get("/ann/demo/milestones", ANN)).text
    assert ('<progress max="3" value="1"' in shown, "33 %" in shown, "Overdue" in shown) == (
        True,
        True,
        overdue,
    )
    forge.answers[path] = []
    assert "New milestone" in (await pages.get("/ann/demo/milestones", ANN)).text
