"""A person with a real browser: signs in, makes a repository, looks around in it and opens an issue."""

import base64

import httpx
import pytest

from ingot_chassis.testing.browser import chromium, open_page

from .deployments import ADMINISTRATOR

PROGRAM = chromium()
SIZES = ((1280, False), (360, True))


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_person_works_in_the_browser(deployment, tmp_path, javascript):
    name, password = ADMINISTRATOR
    repository = f"harbour-{'with' if javascript else 'without'}"
    async with open_page(PROGRAM, tmp_path) as page:
        await page.call("Emulation.setScriptExecutionDisabled", value=not javascript)
        await page.open(f"{deployment.url}login")
        await page.type("#username", name)
        await page.type("#password", password)
        await page.click("form button")
        await page.wait_for("location.pathname === '/' && document.readyState === 'complete'")

        await page.open(f"{deployment.url}repo/create")
        await page.wait_for("location.pathname === '/repo/create'")
        await page.type("#name", repository)
        await page.click("main form button.primary")
        await page.wait_for(f"location.pathname === '/{name}/{repository}'")
        await page.wait_for("document.body.innerText.includes('git push')")

        await _add_a_file(deployment.url, f"{name}/{repository}")
        await page.open(f"{deployment.url}{name}/{repository}")
        await page.wait_for("document.querySelector('.files a') !== null")
        await page.click(".files a[href$='keeper.py']")
        assert await page.wait_for("document.querySelector('#L1 .text')?.innerText") == "print('lit')"

        await page.open(f"{deployment.url}{name}/{repository}/issues/new")
        await page.wait_for("location.pathname.endsWith('/issues/new')")
        await page.type("#title", "The lamp flickers")
        await page.type("#body", "Every **evening**.")
        await page.click("main form button.primary")
        await page.wait_for("location.pathname.endsWith('/issues/1')")
        assert await page.wait_for("document.querySelector('.prose strong')?.innerText") == "evening"

        for width, mobile in SIZES:
            await page.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=800,
                deviceScaleFactor=1,
                mobile=mobile,
            )
            for path in ("", "issues/1", "src/branch/main/keeper.py", "settings"):
                await page.open(f"{deployment.url}{name}/{repository}/{path}".rstrip("/"))
                await page.wait_for(
                    f"location.pathname.endsWith('{path}') && document.readyState === 'complete'"
                )
                assert await page.value("document.documentElement.scrollWidth") <= width, (width, path)
                unlabelled = (
                    "[...document.querySelectorAll('main input:not([type=hidden]), textarea, select')]"
                )
                assert await page.value(f"{unlabelled}.every(e => e.labels.length || e.ariaLabel)"), path
                assert await page.value("document.querySelectorAll('h1').length") <= 2, path
        assert not page.complaints
        assert all(address.startswith((deployment.url, "about:", "data:")) for address in page.requests)


async def _add_a_file(url, repository):
    async with httpx.AsyncClient(base_url=url, auth=ADMINISTRATOR, timeout=60) as http:
        content = base64.b64encode(b"print('lit')\n").decode()
        body = {"content": content, "message": "light the lamp", "branch": "main"}
        answer = await http.post(f"api/v1/repos/{repository}/contents/keeper.py", json=body)
        assert answer.status_code == 201, answer.text
