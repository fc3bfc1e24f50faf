"""Pages of people and organizations."""

import re

import pytest

from ..forge import ANN_USER, HOME, MOMENT
from ..previews.test_previews import IN_PLACE, is_part
from ..world import ANN

PERSON = ANN_USER | {"created": MOMENT} | dict.fromkeys(("description", "location", "website"), "")


@pytest.mark.parametrize(
    ("page", "field", "path"),
    [
        ("/ann/demo/settings/collaboration", "login", "/users/search"),
        ("/ann/demo/issues", "poster", "/users/search"),
        ("/ann/demo/settings/teams", "team", "/orgs/ann/teams/search"),
    ],
)
async def test_a_name_is_completed_as_it_is_written(pages, forge, page, field, path):
    team = {
        "id": 1,
        "name": "<Anglers>",
        "permission": "read",
        "description": "",
        "includes_all_repositories": False,
    }
    forge.answers |= {f"{HOME}/teams": [team], "/users/search": [ANN_USER], "/orgs/ann/teams/search": [team]}
    shown = (await pages.get(page, ANN)).text
    ((attributes, address),) = re.findall(
        rf'id="{field}"([^>]*) list="{field}-names" hx-get="([^"]+)"', shown
    )
    assert "autocomplete" not in attributes, 'with "off" Firefox shows no list'
    assert f'<datalist id="{field}-names"></datalist>' in shown
    forge.read_paths.clear()
    joined = "&" if "?" in address else "?"
    part = await pages.client.get(f"{address}{joined}{field}=+a+", headers=IN_PLACE)
    assert (is_part(part), "<option" in part.text, forge.read_paths) == (True, False, [])
    part = await pages.client.get(f"{address}{joined}{field}=an+", headers=IN_PLACE)
    name, more = ("&lt;Anglers&gt;", "&include_desc=false") if field == "team" else ("ann", "")
    assert f'<option value="{name}"></option>' in part.text
    assert (forge.read_paths, forge.queries[path]) == ([path], f"q=an&limit=50{more}")
    forge.failures[path] = 404
    part = await pages.client.get(f"{address}{joined}{field}=an+", headers=IN_PLACE)
    assert (part.status_code, "<option" in part.text) == (200, False)
    assert (await pages.get(address)).headers["location"] == "/explore/users"


async def test_names_with_the_text_complete_it_those_that_begin_with_it_first(pages, forge):
    logins = ["ann"] * 20 + ["Decor", "factor", "orson"] + ["x" * number + "or" for number in range(9)]
    forge.answers["/users/search"] = [ANN_USER | {"login": login} for login in logins]
    part = await pages.client.get("/explore/names?login=OR", headers=IN_PLACE)
    names = re.findall('<option value="([^"]+)">', part.text)
    assert names == ["orson", "or", "Decor", "factor", "xor", "xxor", "xxxor", "xxxxor"]
