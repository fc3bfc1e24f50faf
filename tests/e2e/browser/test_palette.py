"""The palette of the site: its keys."""

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of
from .person import PROGRAM, open_browser
from .test_lists import make, press_key


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_the_palette_finds_places_by_keys_alone(deployment, tmp_path):
    async with api_of(deployment.url) as http, open_browser(deployment.url, tmp_path) as person:
        await make(http, "palette-of-keys")
        await person.sign_in(*ADMINISTRATOR)
        await person.visit()
        page = person.page
        await press_key(page, "k", "KeyK", modifiers=2)
        await page.wait_for("document.activeElement.matches('dialog.palette input')")
        await page.call("Input.insertText", text="palette-of")
        await page.wait_for("!!document.querySelector('dialog.palette a[href$=\"/palette-of-keys\"]')")
        await press_key(page, "ArrowDown")
        assert await page.value("document.activeElement.matches('dialog.palette a')")
        await press_key(page, "Escape")
        await page.wait_for("!document.querySelector('dialog.palette')")
        await press_key(page, "/")
        await page.wait_for("document.activeElement.matches('dialog.palette input')")
        assert await page.value("document.activeElement.value") == ""
        await page.call("Input.insertText", text="palette-of-keys")
        await page.wait_for("!!document.querySelector('dialog.palette a[href$=\"/palette-of-keys\"]')")
        await page.value("window.isOld = true")
        await press_key(page, "Enter")
        await page.wait_for("!window.isOld && document.readyState === 'complete'")
        assert (await page.value("location.pathname")).endswith("/palette-of-keys")
        assert not page.complaints
