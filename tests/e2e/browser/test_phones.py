"""Pages on a phone: the bar is one row with a menu and the notifications, and rows of lists leave space for
text."""

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of
from .person import BAR, PROGRAM, open_browser

PHONE = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True}
NARROWEST = "Math.min(...[...document.querySelectorAll('.row .what')].map(one => one.offsetWidth))"
UNREAD = "document.querySelector('.bell .count')?.innerText.startsWith('1')"


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_the_bar_is_one_row_on_a_phone_and_its_menu_leads_on(deployment, tmp_path, javascript):
    reader = f"bar-{'with' if javascript else 'without'}"
    async with api_of(deployment.url) as http:
        for path, body in (
            ("admin/users", {"username": reader, "email": f"{reader}@example.org", "password": reader}),
            ("user/repos", {"name": reader}),
        ):
            assert (await http.post(path, json=body)).status_code == 201, path
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.page.call("Emulation.setDeviceMetricsOverride", **PHONE)
        await person.sign_in(reader, reader)
        async with api_of(deployment.url) as http:
            body = {"title": "Fire", "body": f"@{reader}, look!"}
            answer = await http.post(f"repos/{ADMINISTRATOR[0]}/{reader}/issues", json=body)
            assert answer.status_code == 201, answer.text
        await person.visit("notifications")
        await person.look_until("Fire")
        assert await person.page.value("document.querySelector('.bar nav').offsetHeight") < 60
        if javascript:
            await person.page.wait_for(UNREAD)
        await person.follow("Fire")
        await person.visit("notifications")
        await person.read("No new notifications.")
        await person.press(reader, within=BAR)
        await person.follow("Explore", within=BAR)
        await person.read("Organizations")
        await person.sign_out(reader)
        await person.read("Sign in")
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_buttons_of_a_row_leave_its_text_room_on_a_phone(deployment, tmp_path):
    base = f"repos/{ADMINISTRATOR[0]}/narrow"
    async with api_of(deployment.url) as http:
        for path, body in (
            ("user/repos", {"name": "narrow", "auto_init": True}),
            (f"{base}/branches", {"new_branch_name": "a-branch-with-a-name", "old_ref_name": "main"}),
            (f"{base}/milestones", {"title": "The second of all forecasts"}),
        ):
            assert (await http.post(path, json=body)).status_code == 201, path
    async with open_browser(deployment.url, tmp_path) as person:
        await person.page.call("Emulation.setDeviceMetricsOverride", **PHONE)
        await person.sign_in(*ADMINISTRATOR)
        for page in ("branches", "milestones"):
            await person.visit(f"{ADMINISTRATOR[0]}/narrow/{page}")
            assert await person.page.value(NARROWEST) > 130, page
