"""Labels as they are changed on pages."""

import pytest

from ingot_contracts.testing.forms import form_of

from ..forge import HOME
from ..test_forms import ORGANIZATION
from ..world import ANN, BOB

LABEL = {"id": 3, "name": "bug", "color": "ff0000", "description": "wrong"}


LISTS = (("/ann/demo/labels", f"{HOME}/labels"), ("/org/crew/settings/labels", "/orgs/crew/labels"))


"""Labels of a repository and of an organization: the page, and the path of the API."""


@pytest.mark.parametrize(("page", "path"), LISTS)
async def test_a_label_is_made_changed_and_removed(pages, forge, page, path):
    forge.answers |= {path: [LABEL], "/orgs/crew": ORGANIZATION}
    new = {"name": "sea", "color": "#0000ff", "description": "wet"}
    await pages.submit(page, "Create label", to=f"{page}/new", **new)
    await pages.submit(page, "Save label", to=f"{page}/edit", name="fault")
    removed = await pages.submit(page, "Delete bug", to=f"{page}/delete")
    assert removed.headers["location"] == page
    body = {"name": "fault", "color": "#ff0000", "description": "wrong"}
    assert forge.sent == [("POST", path, new), ("PATCH", f"{path}/3", body), ("DELETE", f"{path}/3", {})]


@pytest.mark.parametrize(("page", "path"), LISTS)
async def test_what_was_written_about_a_label_is_in_its_form_when_it_is_refused(pages, forge, page, path):
    forge.answers |= {path: [LABEL], "/orgs/crew": ORGANIZATION}
    forge.refuses = 422
    for button, to, is_open in (("Save label", "edit", True), ("Create label", "new", False)):
        refused = await pages.submit(page, button, to=f"{page}/{to}", name="taken")
        assert (refused.status_code, refused.text.count('value="taken"')) == (422, 1)
        assert ('class="menu end wide" open' in refused.text) is is_open


async def test_a_form_that_is_refused_for_a_while_says_for_how_long(pages, forge):
    path = f"{HOME}/labels"
    forge.answers[path] = [LABEL]
    forge.refuses, forge.headers[path] = 429, {"retry-after": "7"}
    refused = await pages.submit("/ann/demo/labels", "Create label", to="/ann/demo/labels/new", name="sea")
    assert (refused.status_code, refused.headers.get("retry-after")) == (429, "7")


async def test_labels_of_an_organization_have_pages(pages, forge):
    path = "/orgs/crew/labels"
    forge.answers |= {
        path: [LABEL | {"id": n, "name": f"l{n}"} for n in range(60)],
        "/orgs/crew": ORGANIZATION,
    }
    shown = (await pages.get("/org/crew/settings/labels?page=2", ANN)).text
    assert ("l59" in shown, "l49" in shown, 'rel="prev"' in shown) == (True, False, True)


@pytest.mark.parametrize(("page", "path"), LISTS)
async def test_the_next_label_begins_with_another_colour(pages, forge, page, path):
    colours = set()
    forge.answers["/orgs/crew"] = ORGANIZATION
    for count in range(3):
        forge.answers[path] = [
            {"id": number, "name": f"l{number}", "color": "2a6fdb", "description": ""}
            for number in range(count)
        ]
        shown = (await pages.get(page, ANN)).text
        colours |= set(form_of(shown, "/labels/new", "Create label").values["color"])
    assert len(colours) == 3


async def test_who_may_make_the_first_label_is_led_there(pages, forge):
    way = '<a href="/ann/demo/labels">Edit labels</a>'
    for page in ("issues/new", "issues/1/labels"):
        shown = (await pages.get(f"/ann/demo/{page}", ANN)).text
        assert (way in shown, "No labels yet." in shown) == (True, True)
    forge.answers[HOME] = forge.answers[HOME] | {"permissions": {"admin": False, "push": False, "pull": True}}
    assert way not in (await pages.get("/ann/demo/issues/new", BOB)).text
