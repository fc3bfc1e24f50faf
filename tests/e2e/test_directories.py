"""Git over HTTP with the password of a real directory, through the gateway."""

import asyncio
import base64
import time

import httpx
import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from ingot_chassis.jobs.loops import polls
from ingot_testing.slapd import PASSWORD, PEOPLE, SERVICE_DN, SERVICE_PASSWORD, Slapd, running_slapd

from .deployments import ADMINISTRATOR, CHEAP_PASSWORDS, Standalone, running
from .history import GitFailed, git

NEW_PASSWORD = "the directory has another one"
SECONDS = 60
CREDENTIAL_SECONDS = 5
"""The longest time for which the gateway remembers a password."""


@pytest.fixture
async def slapd(tmp_path_factory):
    async with running_slapd(tmp_path_factory.mktemp("slapd")) as slapd:
        yield slapd


@pytest.fixture
async def site(tmp_path, slapd):
    """Ingot with the directory as its source of accounts, and ann, who has a private repository."""
    deployment = Standalone(tmp_path, CHEAP_PASSWORDS | {"INGOT_IDENTITY_ALLOWED_DIRECTORIES": "localhost"})
    with running(deployment):
        config = {
            "kind": "ldap",
            "url": slapd.url,
            "authorities": slapd.authority.pem,
            "bind_dn": SERVICE_DN,
            "base_dn": PEOPLE,
            "first_sign_in": "create",
        }
        source = {"name": "corp", "secret": SERVICE_PASSWORD, "config": config}
        async with httpx.AsyncClient(base_url=deployment.url, timeout=SECONDS) as http:
            added = await http.post("api/v1/admin/auths", json=source, auth=ADMINISTRATOR)
            assert added.status_code == 201, added.text
            await slapd.add_person("ann")
            repository = {"name": "app", "private": True, "auto_init": True, "default_branch": "main"}
            created = await http.post("api/v1/user/repos", json=repository, auth=("ann", PASSWORD))
            assert created.status_code == 201, created.text
        yield deployment


def address(site: Standalone, password: str) -> str:
    return str(httpx.URL(site.url).copy_with(username="ann", password=password)) + "ann/app.git"


async def test_git_takes_the_password_of_the_directory(site, slapd, tmp_path):
    work = tmp_path / "work"
    await git("clone", "-q", address(site, PASSWORD), work)
    (work / "lamp.txt").write_text("on\n")
    await git("add", ".", cwd=work)
    await git("commit", "-q", "-m", "Light the lamp", cwd=work)
    await git("push", "-q", "origin", "HEAD", cwd=work)
    assert "refs/heads/main" in await git("ls-remote", address(site, PASSWORD))
    for wrong in ("wrong", SERVICE_PASSWORD):
        with pytest.raises(GitFailed, match="Authentication failed"):
            await git("ls-remote", address(site, wrong))
    entry = f"uid=ann,{PEOPLE}"
    # The gateway remembers a password, so the requests of one command are not one bind each.
    before = (await slapd.binds()).count(entry)
    async with httpx.AsyncClient(base_url=site.url, timeout=SECONDS) as http:
        answers = await asyncio.gather(*(http.get("api/v1/user", auth=("ann", PASSWORD)) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert (await slapd.binds()).count(entry) - before < 20


async def change_password(slapd: Slapd) -> None:
    await slapd.replace(f"uid=ann,{PEOPLE}", "userPassword", NEW_PASSWORD)


async def leave(slapd: Slapd) -> None:
    await slapd.delete(f"uid=ann,{PEOPLE}")


@pytest.mark.parametrize("change", [change_password, leave])
async def test_a_password_that_the_directory_refuses_stops_within_the_stated_time(site, slapd, change):
    await git("ls-remote", address(site, PASSWORD))
    await change(slapd)
    changed = time.monotonic()
    if change is change_password:
        assert "refs/heads/main" in await git("ls-remote", address(site, NEW_PASSWORD))
    async with httpx.AsyncClient(base_url=site.url, timeout=SECONDS) as http:
        async for _ in polls(SECONDS):
            began = time.monotonic()
            answer = await http.get("api/v1/user", auth=("ann", PASSWORD))
            if answer.status_code == 401:
                break
            assert began < changed + CREDENTIAL_SECONDS, "it was accepted for longer"
    with pytest.raises(GitFailed, match="Authentication failed"):
        await git("ls-remote", address(site, PASSWORD))


async def test_a_second_factor_refuses_the_password_and_names_the_cure(site, tmp_path):
    own = ("ann", PASSWORD)
    async with httpx.AsyncClient(base_url=site.url, timeout=SECONDS) as http:
        body = {"name": "git", "scopes": ["write:repository"]}
        token = (await http.post("api/v1/users/ann/tokens", json=body, auth=own)).json()["sha1"]
        begun = await http.post("api/v1/user/two_factor", auth=own)
        assert begun.is_success, begun.text
        totp = TOTP(base64.b32decode(begun.json()["secret"]), 6, SHA1(), 30)
        code = {"code": totp.generate(int(time.time())).decode()}
        confirmed = await http.post("api/v1/user/two_factor/confirm", json=code, auth=own)
        assert confirmed.is_success, confirmed.text
    with pytest.raises(GitFailed, match="use an access token instead of the password"):
        await git("ls-remote", address(site, PASSWORD))
    assert "refs/heads/main" in await git("ls-remote", address(site, token))
