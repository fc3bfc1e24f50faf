"""Rows of lists are selected and changed at once, by keys and by clicks, and without JavaScript."""

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of
from .person import PROGRAM, open_browser

OWNER = ADMINISTRATOR[0]


async def make(http, name):
    assert (await http.post("user/repos", json={"name": name})).status_code == 201
    for title in ("First", "Second", "Third"):
        answer = await http.post(f"repos/{OWNER}/{name}/issues", json={"title": title})
        assert answer.status_code == 201
    label = await http.post(f"repos/{OWNER}/{name}/labels", json={"name": "bug", "color": "#f00"})
    assert label.status_code == 201


async def state_of(http, name):
    """State and labels by title."""
    rows = (await http.get(f"repos/{OWNER}/{name}/issues", params={"state": "all"})).json()
    return {one["title"]: (one["state"], [label["name"] for label in one["labels"]]) for one in rows}


async def press_key(page, key, code="", **more):
    for kind in ("keyDown", "keyUp"):
        text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
        await page.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **text, **more)


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_selected_issues_are_changed_at_once(deployment, tmp_path, javascript):
    name = f"rows-{'with' if javascript else 'without'}"
    async with (
        api_of(deployment.url) as http,
        open_browser(deployment.url, tmp_path, javascript=javascript) as person,
    ):
        await make(http, name)
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{OWNER}/{name}/issues?sort=oldest")
        await person.press("Select First", within="main input")
        await person.press("Select Third", within="main input")
        await person.mark()
        if javascript:
            await person.read("2 selected")
            await person.press("Edit selected")
        else:
            await person.follow("Edit selected")
        await person.read("Change of labels")
        assert await person.stays() == javascript
        await person.choose("State", "Closed")
        await person.choose("Change of labels", "Add those below")
        await person.press("bug", within="label")
        await person.follow("Apply changes")
        await person.read("Changed: #1, #3.")
        assert (await person.page.value("location.search")).startswith("?state=open&sort=oldest&outcome=")
        assert await state_of(http, name) == {
            "First": ("closed", ["bug"]),
            "Second": ("open", []),
            "Third": ("closed", ["bug"]),
        }
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_keys_move_in_a_list_and_select_its_rows(deployment, tmp_path):
    chosen = "[...document.querySelectorAll('[name=number]:checked')].map(one => one.value).join()"
    focused = "document.activeElement.innerText"
    async with api_of(deployment.url) as http, open_browser(deployment.url, tmp_path) as person:
        await make(http, "keys")
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{OWNER}/keys/issues?sort=oldest")
        page = person.page
        titles = []
        for key in "jjk":
            await press_key(page, key)
            titles.append(await page.value(focused))
        assert titles == ["First", "Second", "First"]
        await press_key(page, "x")
        assert await page.value(chosen) == "1"
        await page.value(
            "document.querySelector('[name=number][value=\"3\"]')"
            ".dispatchEvent(new MouseEvent('click', {shiftKey: true, bubbles: true}))"
        )
        assert await page.value(chosen) == "1,2,3"
        await person.read("3 selected")
        await person.press("Select all", within="label")
        assert await page.value(chosen) == ""
        await page.value("document.querySelectorAll('a.title')[1].focus(); window.isOld = true")
        await press_key(page, "o")
        await page.wait_for("!window.isOld && document.readyState === 'complete'")
        await person.read("Second #2")
        assert not page.complaints
