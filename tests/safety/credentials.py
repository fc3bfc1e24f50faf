"""Credentials that come of pages and of SSH: sessions of browsers, tokens of applications, tokens of LFS."""

import asyncio
import base64
import hashlib
import json
import re
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import asyncssh
import httpx

from ..e2e.parts import PATIENCE

VERIFIER = "a-word-of-the-application-that-only-the-application-knows"
_FORM = re.compile(r'<form method="post" action="([^"]*)">(.*?)</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')


def session(url: str, name: str, password: str) -> dict[str, str]:
    """Sign in with a browser, and return the header with its cookies."""
    with httpx.Client(base_url=url, timeout=60) as browser:
        _submit(browser, browser.get("login"), username=name, password=password)
        return {"cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}


def application_token(
    url: str, name: str, password: str, client_id: str, redirect_uri: str, scopes: Iterable[str]
) -> dict[str, str]:
    """Authorize a public application, and return the header with its access token."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code", "client_id": client_id, "redirect_uri": redirect_uri,
        "scope": " ".join(scopes), "code_challenge": challenge, "code_challenge_method": "S256",
    }  # fmt: skip
    with httpx.Client(base_url=url, timeout=60) as browser:
        page = browser.get("login/oauth/authorize", params=query)
        consent = browser.get(_submit(browser, page, username=name, password=password).headers["location"])
        answer = _submit(browser, consent, decision="allow")
        form = {
            "grant_type": "authorization_code", "client_id": client_id, "redirect_uri": redirect_uri,
            "code": httpx.URL(answer.headers["location"]).params["code"], "code_verifier": VERIFIER,
        }  # fmt: skip
        tokens = browser.post("login/oauth/access_token", data=form)
    assert tokens.status_code == 200, tokens.text
    return {"authorization": f"Bearer {tokens.json()['access_token']}"}


def lfs_token(port: int, key: asyncssh.SSHKey, repository: str) -> dict[str, str]:
    """The header with which a key opens LFS of a repository over HTTP, for downloads."""

    async def ask() -> dict[str, str]:
        login: dict[str, Any] = {"username": "git", "client_keys": [key], "known_hosts": None, "config": None}
        async with await _connect(port, login) as connection:
            answer = await connection.run(f"git-lfs-authenticate '{repository}' download", check=True)
        headers: dict[str, str] = json.loads(answer.stdout or "")["header"]
        return headers

    with ThreadPoolExecutor() as threads:  # the loop of this thread may be that of a test
        return threads.submit(asyncio.run, ask()).result()


async def _connect(port: int, login: dict[str, Any]) -> asyncssh.SSHClientConnection:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return await asyncssh.connect("127.0.0.1", port, **login)
        except OSError:  # the SSH server of a cluster is about to start
            assert time.monotonic() < end
            await asyncio.sleep(0.05)


def _submit(browser: httpx.Client, page: httpx.Response, **fields: str) -> httpx.Response:
    """Send the first form of a page, which leads somewhere."""
    action, content = _FORM.findall(page.text)[0]
    hidden = {unescape(name): unescape(value) for name, value in _HIDDEN.findall(content)}
    answer = browser.post(unescape(action), data=hidden | fields)
    assert answer.status_code == 303, answer.text
    return answer
