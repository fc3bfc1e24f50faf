"""Conflicts of a pull request are resolved on its page, with JavaScript and without it."""

import base64

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of, content, make
from .person import PROGRAM, open_browser

OWNER = ADMINISTRATOR[0]


async def clash(http, name):
    """Main and topic change the same line of lamp.txt; a pull request wants to merge them."""
    await make(http, "user/repos", name=name)
    path = f"repos/{OWNER}/{name}/contents/lamp.txt"
    first = await make(http, path, content=content("top\ndark\n"), message="Begin", branch="main")
    change = {"sha": first["content"]["sha"], "method": "PUT"}
    bright = content("top\nbright\n")
    await make(http, path, content=bright, message="Light it", branch="main", new_branch="topic", **change)
    await make(http, path, content=content("top\ndim\n"), message="Dim it", branch="main", **change)
    await make(http, f"repos/{OWNER}/{name}/pulls", title="Light", head="topic", base="main")


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_conflicts_are_resolved_on_a_page(deployment, tmp_path, javascript):
    name = f"clash-{'with' if javascript else 'without'}"
    async with (
        api_of(deployment.url) as http,
        open_browser(deployment.url, tmp_path, javascript=javascript) as person,
    ):
        await clash(http, name)
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{OWNER}/{name}/pulls/1")
        await person.look_until("Resolve conflicts")
        await person.follow("Resolve conflicts")
        for words in ("bright", "dark", "dim"):
            await person.read(words)
        await person.follow("Commit merge")
        await person.read("choose a version for conflict 1 of lamp.txt")
        await person.press("Use both, topic first", within="label")
        await person.follow("Commit merge")
        await person.visit(f"{OWNER}/{name}/pulls/1")
        await person.look_until("Ready to merge")
        file = await http.get(f"repos/{OWNER}/{name}/contents/lamp.txt", params={"ref": "topic"})
        assert base64.b64decode(file.json()["content"]) == b"top\nbright\ndim\n"
