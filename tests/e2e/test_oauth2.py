"""A person signs in with a real browser, and an application acts for them."""

import asyncio
import secrets

import httpx
import pytest
from aiohttp import web
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from ingot_testing.browser import chromium, open_page

from .deployments import ADMINISTRATOR

PROGRAM = chromium()
VERIFIER = secrets.token_urlsafe(48)
REVOKED_WITHIN = 5.5


@pytest.fixture
async def http(deployment):
    async with httpx.AsyncClient(base_url=deployment.url, timeout=60) as client:
        yield client


@pytest.fixture
async def callback():
    """A program on this device: its address, and the parameters with which a browser comes back."""
    arrived = asyncio.get_running_loop().create_future()

    async def receive(request):
        if not arrived.done():
            arrived.set_result(dict(request.query))
        return web.Response(text="you may close this window")

    app = web.Application()
    app.router.add_get("/cb", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/cb", arrived
    await runner.cleanup()


async def new_person(http):
    name, password = f"ann-{secrets.token_hex(3)}", "what ann knows"
    new = {"username": name, "email": f"{name}@example.org", "password": password}
    assert (await http.post("api/v1/admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
    return name, password


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
async def test_a_person_lets_a_program_act_for_them_and_takes_it_back(http, callback, tmp_path):
    address, arrived = callback
    name, password = await new_person(http)
    own = "api/v1/user/applications/oauth2"
    body = {"name": "tea", "redirect_uris": ["http://127.0.0.1/cb"]}
    app = (await http.post(own, json=body, auth=(name, password))).json()
    configuration = (await http.get(".well-known/openid-configuration")).json()
    query = {
        "response_type": "code",
        "client_id": app["client_id"],
        "redirect_uri": address,
        "scope": "openid read:user",
        "state": "s",
        "code_challenge": create_s256_code_challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    async with open_page(PROGRAM, tmp_path) as page:
        await page.open(str(httpx.URL(configuration["authorization_endpoint"], params=query)))
        await page.type("#username", name)
        await page.type("#password", password)
        await page.click("form button")
        await page.wait_for("document.querySelector('button[value=allow]') !== null")
        assert name in await page.value("document.body.innerText")
        await page.click("button[value=allow]")
        back = await asyncio.wait_for(arrived, 60)
        assert await page.wait_for("document.body.innerText") == "you may close this window"
        assert not [text for text in page.complaints if "Content Security Policy" in text]
    assert (back["state"], back["iss"]) == ("s", configuration["issuer"])

    form = {"grant_type": "authorization_code", "client_id": app["client_id"], "code": back["code"]}
    form |= {"redirect_uri": address, "code_verifier": VERIFIER}
    answer = await http.post("login/oauth/access_token", data=form)
    assert answer.status_code == 200
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    assert (await http.get("api/v1/user", headers=headers)).json()["login"] == name
    assert (await http.get("login/oauth/userinfo", headers=headers)).status_code == 200
    assert (await http.delete(f"{own}/{app['id']}", auth=(name, password))).status_code == 204
    await asyncio.sleep(REVOKED_WITHIN)
    assert (await http.get("api/v1/user", headers=headers)).status_code == 401
