"""Pages of a repository whose units are not all open to the caller."""

import pytest

from ..forge import HOME, release, repository
from ..test_forms import ANSWERS
from ..world import ANN, BOB

UNITS = ("code", "issues", "pulls", "releases")


def opened(forge, **levels):
    """Let the caller have these levels in a private repository, and none in its other units."""
    units_map = {f"repo.{unit}": levels.get(unit, "none") for unit in UNITS}
    permissions = {"admin": False, "push": levels.get("code") == "write", "pull": "code" in levels}
    forge.answers[HOME] = repository(private=True, permissions=permissions) | {"units_map": units_map}


@pytest.mark.parametrize(
    ("levels", "tabs"),
    [
        ({"issues": "write"}, {"Issues"}),
        ({"code": "read", "issues": "read"}, {"Code", "Issues"}),
        ({"pulls": "write", "issues": "read"}, {"Issues"}),
        ({"pulls": "write", "code": "read"}, {"Code", "Pull requests"}),
        ({"releases": "read"}, {"Releases"}),
    ],
)
async def test_a_page_shows_the_tabs_of_readable_units(pages, forge, levels, tabs):
    opened(forge, **levels)
    forge.answers |= {f"{HOME}/labels": []}
    shown = (await pages.get("/ann/demo/labels", BOB)).text
    paths = {"Code": "", "Issues": "/issues", "Pull requests": "/pulls", "Releases": "/releases"}
    tab_list = shown.split('class="tabs"')[1].split("</nav>")[0]
    assert {name for name, path in paths.items() if f'href="/ann/demo{path}"' in tab_list} == tabs


@pytest.mark.parametrize(
    ("levels", "page"),
    [
        ({"issues": "read"}, "/issues"),
        ({"releases": "read"}, "/releases"),
        ({"issues": "read", "pulls": "read"}, "/issues"),
    ],
)
async def test_without_the_code_the_first_readable_page_is_shown(pages, forge, levels, page):
    opened(forge, **levels)
    answer = await pages.get("/ann/demo", BOB)
    assert answer.headers["location"] == f"/ann/demo{page}"


async def test_without_any_unit_there_is_no_page(pages, forge):
    opened(forge)
    assert (await pages.get("/ann/demo", BOB)).status_code == 404


@pytest.mark.parametrize(
    ("levels", "offered"), [({"code": "write", "releases": "read"}, False), ({"releases": "write"}, True)]
)
async def test_buttons_go_by_the_unit_of_the_page(pages, forge, levels, offered):
    opened(forge, **levels)
    forge.answers[f"{HOME}/releases"] = [release()]
    shown = (await pages.get("/ann/demo/releases", BOB)).text
    assert ("New release" in shown) == offered


async def test_a_form_keeps_the_levels_of_a_mixed_team_unless_another_is_chosen(pages, forge):
    forge.answers |= ANSWERS
    units_map = {"repo.code": "read", "repo.issues": "write", "repo.packages": "read"}
    mixed = {"permission": "read", "units_map": units_map}
    forge.answers["/teams/1"] = ANSWERS["/teams/1"] | mixed
    shown = (await pages.get("/org/crew/settings/teams/1", ANN)).text
    assert "<code>repo.issues</code> write" in shown
    edit = "/org/crew/settings/teams/1/edit"
    await pages.submit(edit, "Save team", to="/edit", description="all")
    await pages.submit(edit, "Save team", to="/edit", permission="write")
    await pages.submit(edit, "Save team", to="/edit", unit_code="none", unit_wiki="write")
    first, changed, by_unit = (body for _, _, body in forge.sent)
    none = {"repo.pulls": "none", "repo.releases": "none", "repo.wiki": "none"}
    assert (first["description"], first["units_map"]) == ("all", units_map | none)
    assert "permission" not in first
    assert (changed["permission"], "units_map" in changed) == ("write", False)
    assert by_unit["units_map"] == units_map | none | {"repo.code": "none", "repo.wiki": "write"}
