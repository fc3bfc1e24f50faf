"""With JavaScript addresses of clones, ids of commits and blocks of code have a button that copies them."""

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of
from .person import PROGRAM, open_browser

CODE = "git pull\nmake\n"
LISTEN = """(() => {
  const status = document.querySelector("[role=status].hidden");
  window.said = [];
  new MutationObserver(() => window.said.push(status.textContent)).observe(status, { childList: true });
})()"""
"""The message about copying disappears after two seconds; ``said`` collects all messages."""


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_what_is_written_elsewhere_is_copied(deployment, tmp_path, javascript):
    name = f"ladder-{'with' if javascript else 'without'}"
    base = f"{ADMINISTRATOR[0]}/{name}"
    async with api_of(deployment.url) as http:
        repository = (await http.post("user/repos", json={"name": name, "auto_init": True})).json()
        await http.post(f"repos/{base}/issues", json={"title": "Rungs", "body": f"```\n{CODE}```"})
        (commit,) = (await http.get(f"repos/{base}/commits")).json()
    buttons = (
        ("issues/1", "Copy this block", CODE),
        ("commits/branch/main", f"Copy the whole commit id {commit['sha'][:10]}", commit["sha"]),
        (f"commit/{commit['sha']}", f"Copy the whole commit id {commit['sha'][:10]}", commit["sha"]),
        ("src/branch/main", "Copy the address for HTTP", repository["clone_url"]),
    )
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        page = person.page
        permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        await page.call(
            "Browser.grantPermissions", permissions=permissions, origin=deployment.url.rstrip("/")
        )
        await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        for path, words, text in buttons:
            await person.visit(f"{base}/{path}")
            if not javascript:
                await person.read(name)
                assert not await page.value("document.querySelectorAll('.copy').length")
                continue
            if path.startswith("src"):
                await person.press("Clone")
            await page.wait_for("!!document.querySelector('.copy')")
            await page.value(LISTEN)
            await person.press(words)
            await page.wait_for("window.said.includes('Copied')")
            await page.value("navigator.clipboard.readText().then(text => { window.clip = text })")
            assert await page.wait_for("window.clip") == text
        if javascript:
            await person.visit(f"{base}/issues/1")
            await page.wait_for("!!document.querySelector('.copy')")
            await page.value(LISTEN)
            await page.value("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
            await person.press("Copy this block")
            await page.wait_for("window.said.includes('The browser did not copy it')")
        assert not page.complaints
