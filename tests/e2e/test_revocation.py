"""Revocation: whatever came of a right, each URL that it opened is shut within 5 seconds of its end."""

import asyncio
import re
import secrets
import time
from contextlib import AsyncExitStack
from html import unescape

import httpx
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from .deployments import ADMINISTRATOR, PATIENCE

PASSWORD = "what ann knows"
REVOKED_WITHIN = 5.0
VERIFIER = secrets.token_urlsafe(48)
REDIRECT = "https://ci.example.org/cb"


@pytest.fixture
async def connect(deployment):
    """Clients, each with a credential and cookies of its own."""
    async with AsyncExitStack() as stack:

        async def connect(**credential):
            client = httpx.AsyncClient(base_url=deployment.url, timeout=60, **credential)
            return await stack.enter_async_context(client)

        yield connect


@pytest.fixture
async def administrator(connect):
    return await connect(auth=ADMINISTRATOR)


@pytest.fixture
async def ann(connect, administrator):
    return await connect(auth=(await new_person(administrator, "ann"), PASSWORD))


@pytest.fixture
async def bob(connect, administrator):
    return await connect(auth=(await new_person(administrator, "bob"), PASSWORD))


async def new_person(administrator, name):
    name = f"{name}-{secrets.token_hex(3)}"
    new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    assert (await administrator.post("api/v1/admin/users", json=new)).status_code == 201
    return name


async def login(client):
    return (await client.get("api/v1/user")).json()["login"]


async def new_repository(owner, path="user"):
    """The full name of a private one with a file, an issue and a hook."""
    body = {"name": "demo", "private": True, "auto_init": True, "default_branch": "main"}
    answer = await owner.post(f"api/v1/{path}/repos", json=body)
    assert answer.status_code == 201, answer.text
    full_name = answer.json()["full_name"]
    assert (await owner.post(f"api/v1/repos/{full_name}/issues", json={"title": "one"})).status_code == 201
    return full_name


def urls_of(full_name):
    """What somebody who may read a repository opens in every service."""
    api = f"api/v1/repos/{full_name}"
    return [
        api,
        f"{api}/issues",
        f"{api}/issues/1",
        f"{api}/contents/README.md",
        f"{full_name}/archive/main.zip",
        f"{full_name}.git/info/refs?service=git-upload-pack",
    ]


async def status_of(client, url):
    return (await client.get(url)).status_code


async def require_open(client, urls):
    assert {url: await status_of(client, url) for url in urls} == dict.fromkeys(urls, 200)


async def require_shut(client, urls):
    """Each request that began more than 5 seconds after this call is refused."""
    since = time.monotonic()

    async def last_opened(url):
        last = since
        while (began := time.monotonic()) < since + PATIENCE:
            if await status_of(client, url) in (303, 401, 403, 404):
                return last - since
            last = began
            await asyncio.sleep(0.1)
        raise AssertionError(f"{url} stays open")

    opened = dict(zip(urls, await asyncio.gather(*map(last_opened, urls)), strict=True))
    assert not {url: seconds for url, seconds in opened.items() if seconds > REVOKED_WITHIN}


async def submit(browser, page, **fields):
    """Send the first form of a page."""
    action, content = re.findall(r'<form method="post" action="([^"]*)">(.*?)</form>', page.text, re.DOTALL)[
        0
    ]
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', content)
    form = {unescape(name): unescape(value) for name, value in hidden} | fields
    return await browser.post(unescape(action), data=form)


async def sign_in(browser, name, path="login", query=None):
    page = await browser.get(path, params=query)
    answer = await submit(browser, page, username=name, password=PASSWORD)
    assert answer.status_code == 303, answer.text
    return answer


async def granted_token(connect, owner, person):
    """An access token that an application got from a person."""
    own = "api/v1/user/applications/oauth2"
    app = (await owner.post(own, json={"name": "ci", "redirect_uris": [REDIRECT]})).json()
    query = {
        "response_type": "code",
        "client_id": app["client_id"],
        "scope": "read:user read:repository read:issue",
        "code_challenge": create_s256_code_challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    browser = await connect()
    answer = await sign_in(browser, person, "login/oauth/authorize", query)
    page = await browser.get(answer.headers["location"])
    answer = await submit(browser, page, decision="allow")
    code = httpx.URL(answer.headers["location"]).params["code"]
    form = {"grant_type": "authorization_code", "client_id": app["client_id"], "code": code}
    tokens = await browser.post("login/oauth/access_token", data=form | {"code_verifier": VERIFIER})
    assert tokens.status_code == 200, tokens.text
    return tokens.json()["access_token"]


async def test_a_token_that_is_deleted(connect, ann):
    name, full_name = await login(ann), await new_repository(ann)
    token = (await ann.post(f"api/v1/users/{name}/tokens", json={"name": "t"})).json()
    urls = ["api/v1/user", f"api/v1/repos/{full_name}/hooks", *urls_of(full_name)]
    for client in (
        await connect(headers={"Authorization": f"token {token['sha1']}"}),
        await connect(auth=(name, token["sha1"])),
    ):
        await require_open(client, urls)
    assert (await ann.delete(f"api/v1/users/{name}/tokens/{token['id']}")).status_code == 204
    await require_shut(client, urls)


async def test_a_collaborator_who_is_removed(ann, bob):
    full_name, name = await new_repository(ann), await login(bob)
    path = f"api/v1/repos/{full_name}/collaborators/{name}"
    assert (await ann.put(path, json={"permission": "admin"})).status_code == 204
    urls = [f"api/v1/repos/{full_name}/hooks", *urls_of(full_name)]
    await require_open(bob, urls)
    assert (await ann.delete(path)).status_code == 204
    await require_shut(bob, urls)


async def test_a_member_who_leaves_a_team(ann, bob):
    org, name = f"acme-{secrets.token_hex(3)}", await login(bob)
    assert (await ann.post("api/v1/orgs", json={"username": org})).status_code == 201
    full_name = await new_repository(ann, f"orgs/{org}")
    body = {"name": "devs", "permission": "write"}
    team = (await ann.post(f"api/v1/orgs/{org}/teams", json=body)).json()["id"]
    assert (await ann.put(f"api/v1/teams/{team}/repos/{full_name}")).status_code == 204
    member = f"api/v1/teams/{team}/members/{name}"
    assert (await ann.put(member)).status_code == 204
    await require_open(bob, urls_of(full_name))
    assert (await ann.delete(member)).status_code == 204
    await require_shut(bob, urls_of(full_name))


async def test_a_team_that_has_all_repositories_no_longer(ann, bob):
    org, name = f"acme-{secrets.token_hex(3)}", await login(bob)
    assert (await ann.post("api/v1/orgs", json={"username": org})).status_code == 201
    body = {"name": "all", "permission": "read", "includes_all_repositories": True}
    team = (await ann.post(f"api/v1/orgs/{org}/teams", json=body)).json()["id"]
    assert (await ann.put(f"api/v1/teams/{team}/members/{name}")).status_code == 204
    urls = urls_of(await new_repository(ann, f"orgs/{org}"))
    await require_open(bob, urls)
    change = {"includes_all_repositories": False}
    assert (await ann.patch(f"api/v1/teams/{team}", json=change)).status_code == 200
    await require_shut(bob, urls)


async def test_a_session_that_is_ended(connect, ann):
    name, full_name = await login(ann), await new_repository(ann)
    archive = f"{full_name}/archive/main.zip"
    ended, other = await connect(), await connect()
    for browser in (other, ended):
        await sign_in(browser, name)
        await require_open(browser, [archive])
    sessions = (await ann.get("api/v1/user/sessions")).json()
    assert len(sessions) == 2
    assert (await ann.delete(f"api/v1/user/sessions/{sessions[0]['id']}")).status_code == 204
    await require_shut(ended, [archive])
    await require_open(other, [archive])


async def test_a_grant_that_is_taken_back(connect, ann, bob):
    full_name = await new_repository(bob)
    token = await granted_token(connect, ann, await login(bob))
    client = await connect(headers={"Authorization": f"Bearer {token}"})
    urls = ["api/v1/user", *urls_of(full_name)]
    await require_open(client, urls)
    (grant,) = (await bob.get("api/v1/user/oauth2_grants")).json()
    assert (await bob.delete(f"api/v1/user/oauth2_grants/{grant['id']}")).status_code == 204
    await require_shut(client, urls)


async def test_a_password_that_is_replaced(connect, administrator, ann, bob):
    name, full_name = await login(bob), await new_repository(bob)
    browser = await connect()
    await sign_in(browser, name)
    token = await granted_token(connect, ann, name)
    client = await connect(headers={"Authorization": f"Bearer {token}"})
    urls, of_browser = ["api/v1/user", *urls_of(full_name)], [f"{full_name}/archive/main.zip"]
    await require_open(bob, urls)
    await require_open(client, urls)
    await require_open(browser, of_browser)
    body = {"password": "another password"}
    assert (await administrator.patch(f"api/v1/admin/users/{name}", json=body)).status_code == 200
    await asyncio.gather(
        require_shut(bob, urls), require_shut(client, urls), require_shut(browser, of_browser)
    )


async def test_an_account_that_may_not_sign_in_any_more(connect, administrator, bob):
    name, full_name = await login(bob), await new_repository(bob)
    token = (await bob.post(f"api/v1/users/{name}/tokens", json={"name": "t"})).json()["sha1"]
    client = await connect(headers={"Authorization": f"token {token}"})
    urls = ["api/v1/user", *urls_of(full_name)]
    await require_open(client, urls)
    body = {"prohibit_login": True}
    assert (await administrator.patch(f"api/v1/admin/users/{name}", json=body)).status_code == 200
    await require_shut(client, urls)
