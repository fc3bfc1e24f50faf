"""The API page in a browser: it shows the operations, and one tries them with a token."""

import pytest

from ingot_contracts.web import PageFrame
from ingot_gateway.api.viewer_files import FILES, page
from ingot_testing.browser import chromium, open_page

from .world import TOKEN, open_world

REPOSITORY = {
    "get": {
        "operationId": "repoGet",
        "tags": ["repository"],
        "summary": "Show a repository",
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in ("owner", "repo")
        ],
        "responses": {"200": {"description": "the repository"}},
    }
}
GROUNDS = ("document.documentElement", "document.querySelector('header.bar')")
"""Elements that are dark if the system is dark."""
OPERATION = "#operations-repository-repoGet"


def test_the_page_works_below_a_path():
    below = page(PageFrame("/forge", "Ships & co"))

    assert b"<title>Ships &amp; co API</title>" in below
    assert b'<a class="brand" href="/forge/">' in below
    assert b'<a href="/forge/explore/repos">' in below
    assert b'src="/forge/api/v1/swagger/start.js?' in below
    assert b'"/api' not in below


def test_the_viewer_names_its_licence():
    assert b"swagger-ui-bundle.js.LICENSE.txt" in FILES["swagger-ui-bundle.js"].plain[:200]


@pytest.mark.skipif(chromium() is None, reason="there is no Chromium on PATH")
async def test_one_signs_in_with_a_token_and_tries_an_operation(tmp_path):
    async with open_world("asgi") as world, open_page(str(chromium()), tmp_path) as tab:
        world.services["repos"].paths = {"/api/v1/repos/{owner}/{repo}": REPOSITORY}
        await tab.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
        )
        await tab.open(f"{world.url}/api/v1/swagger")
        await tab.click(".btn.authorize")
        await tab.type("#auth-bearer-value", TOKEN)
        await tab.click(".modal-ux-content .auth-container:has(#auth-bearer-value) .authorize")
        await tab.click(".modal-ux .btn-done")
        await tab.click("#operations-tag-repository")
        await tab.click(f"{OPERATION} .opblock-summary-control")
        await tab.type(f"{OPERATION} tr[data-param-name=owner] input", "ann")
        await tab.type(f"{OPERATION} tr[data-param-name=repo] input", "app")
        await tab.click(f"{OPERATION} .execute")
        status = await tab.wait_for(
            f"document.querySelector('{OPERATION} .live-responses-table tbody "
            ".response-col_status')?.innerText"
        )
        grounds = [await tab.value(f"getComputedStyle({part}).backgroundColor") for part in GROUNDS]
        answer = await tab.value(f"document.querySelector('{OPERATION} .live-responses-table').innerText")

    assert status.startswith("200")
    assert "principal of 7" in answer
    assert '"path": "/api/v1/repos/ann/app"' in answer
    assert grounds == ["rgb(28, 32, 34)", "rgb(30, 31, 35)"]
    assert not tab.complaints
    assert all(url.startswith((world.url, "data:")) for url in tab.requests)
