"""A token that is restricted to one repository, at every public interface."""

import asyncio
import secrets
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from .deployments import ADMINISTRATOR
from .history import GitFailed, git, make_history

PASSWORD = "what ann knows"
pytestmark = pytest.mark.both_deployments


class Person:
    """A user with a password or a token."""

    def __init__(self, http: httpx.AsyncClient, credential: tuple[str, str] | str) -> None:
        self._http, self._credential = http, credential

    async def __call__(self, method: str, path: str, body: Any = None) -> httpx.Response:
        if isinstance(self._credential, str):
            headers = {"authorization": f"token {self._credential}"}
            return await self._http.request(method, path, json=body, headers=headers)
        return await self._http.request(method, path, json=body, auth=self._credential)


async def test_a_restricted_token_reaches_its_repository_and_no_other(deployment, tmp_path):
    ann = f"ann-{secrets.token_hex(3)}"
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as http:
        new = {"username": ann, "email": f"{ann}@example.org", "password": PASSWORD}
        assert (await Person(http, ADMINISTRATOR)("POST", "admin/users", new)).status_code == 201
        owner = Person(http, (ann, PASSWORD))
        for name in ("named", "other"):
            created = await owner("POST", "user/repos", {"name": name, "private": True})
            assert created.status_code == 201
        restricted = {"name": "deploy", "repositories": [f"{ann}/named"]}
        created = await owner("POST", f"users/{ann}/tokens", restricted)
        assert created.status_code == 201, created.text
        secret = created.json()["sha1"]
        token = Person(http, secret)

        await it_stays_inside(token, ann)
        await git_stays_inside(deployment.url, ann, secret, tmp_path)
        assert (await owner("PATCH", f"repos/{ann}/named", {"name": "renamed"})).status_code == 200
        assert (await token("GET", f"repos/{ann}/renamed")).status_code == 200

        listed = (await owner("GET", f"users/{ann}/tokens")).json()[0]
        assert (await owner("DELETE", f"users/{ann}/tokens/{listed['id']}")).status_code == 204
        # The gateway that was asked forgets at once, another one when it hears of it, or after five seconds.
        began = since = time.monotonic()
        while (await token("GET", "user")).status_code != 401:
            assert began <= since + 5
            await asyncio.sleep(0.05)
            began = time.monotonic()


async def it_stays_inside(token: Person, ann: str) -> None:
    named, other = f"repos/{ann}/named", f"repos/{ann}/other"
    for path, status in ((named, 200), (other, 404), (f"{other}/issues", 404), (f"{other}/hooks", 404)):
        assert (await token("GET", path)).status_code == status, path
    for path in ("user/repos", f"users/{ann}/repos", "repos/search?q=other", "repos/search?q=named"):
        # Others may have a repository of that name.
        assert f"{ann}/other" not in [
            repository["full_name"] for repository in rows(await token("GET", path))
        ]
    assert (await token("POST", f"{named}/issues", {"title": "here"})).status_code == 201
    assert (await token("POST", f"{other}/issues", {"title": "there"})).status_code == 404
    for path in ("user/repos", f"{named}/forks", f"{named}/transfer", "orgs", "user/emails"):
        assert (await token("POST", path, {"name": "more", "new_owner": ann})).status_code == 403, path
    assert (await token("GET", "user")).json()["login"] == ann


def rows(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return body["data"] if isinstance(body, dict) else body


async def git_stays_inside(url: str, ann: str, secret: str, folder: Path) -> None:
    source = await make_history(folder)
    for name, refused in (("named", False), ("other", True)):
        target = url.replace("://", f"://{ann}:{secret}@", 1) + f"{ann}/{name}.git"
        if refused:
            with pytest.raises(GitFailed):
                await git("push", "-q", target, "HEAD:refs/heads/main", cwd=source)
        else:
            await git("push", "-q", target, "HEAD:refs/heads/main", cwd=source)
