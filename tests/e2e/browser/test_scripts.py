"""What JavaScript spares a person: other pages for a preview and a comment. Without it the same forms lead to the same end."""

import httpx
import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .person import BAR, PROGRAM, open_browser


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_comment_is_looked_at_and_sent(deployment, tmp_path, javascript):
    name = f"lamp-{'with' if javascript else 'without'}"
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", auth=ADMINISTRATOR, timeout=60) as http:
        for path, body in (
            ("user/repos", {"name": name, "auto_init": True}),
            (f"repos/{ADMINISTRATOR[0]}/{name}/issues", {"title": "It flickers"}),
        ):
            assert (await http.post(path, json=body)).status_code == 201
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{ADMINISTRATOR[0]}/{name}/issues/1")
        await person.mark()
        await person.write("Comment", "Every **evening**.")
        await person.press("Preview")
        await person.read("Every evening.")
        assert await person.stays() == javascript
        await person.press("Comment", within="button")
        await person.read(f"{ADMINISTRATOR[0]} wrote")
        await person.page.wait_for(
            "document.querySelector('#thread > li:last-child strong')?.innerText === 'evening'"
        )
        assert await person.page.value("document.querySelector('#body').value") == ""
        assert await person.stays() == javascript

        await person.press(ADMINISTRATOR[0], within=BAR)
        await person.read("Your profile")
        await person.page.value("window.control.focus()")
        for kind in ("keyDown", "keyUp"):
            await person.page.call("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape")
        assert await person.page.value("window.control.parentElement.open") != javascript
        assert not person.page.complaints
        if javascript:
            await person.visit(f"{ADMINISTRATOR[0]}/{name}/issues/1")
            network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            await person.page.call("Network.emulateNetworkConditions", offline=True, **network)
            await person.write("Comment", "Is anybody there?")
            await person.press("Comment", within="button")
            await person.read("The site does not answer.")
            assert await person.page.value("document.querySelector('#body').value") == "Is anybody there?"
        assert all(
            address.startswith((deployment.url, "about:", "data:")) for address in person.page.requests
        )
