"""LFS through the gateway: its protocol by HTTP, and the real git-lfs where it is installed."""

import hashlib
import secrets
import shutil

import httpx
import pytest

from .deployments import ADMINISTRATOR
from .history import git

PASSWORD = "what they know"
LARGE = bytes(range(256)) * 20_000
MEDIA_TYPE = "application/vnd.git-lfs+json"
FILTER = {
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.required": "true",
}
needs_client = pytest.mark.skipif(not shutil.which("git-lfs"), reason="git-lfs is not installed")


@pytest.fixture
async def api(deployment):
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as http:
        yield http


async def person(api, name):
    """A new user, as the credential for requests."""
    login = f"{name}-{secrets.token_hex(3)}"
    new = {"username": login, "email": f"{login}@example.org", "password": PASSWORD}
    assert (await api.post("admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
    return login, PASSWORD


@pytest.fixture
async def ann(api):
    """Has a private repository `files`."""
    credential = await person(api, "ann")
    created = await api.post("user/repos", json={"name": "files", "private": True}, auth=credential)
    assert created.status_code == 201
    return credential


def git_url(deployment, credential, repository="files"):
    user, password = credential
    root = deployment.url.replace("://", f"://{user}:{password.replace(' ', '%20')}@", 1)
    return f"{root}{user}/{repository}.git"


async def test_an_object_comes_and_goes_through_the_gateway(deployment, api, ann):
    root = f"{deployment.url}{ann[0]}/files.git/info/lfs"
    oid = hashlib.sha256(LARGE).hexdigest()
    body = {"operation": "upload", "objects": [{"oid": oid, "size": len(LARGE)}]}
    refused = await api.post(f"{root}/objects/batch", json=body)
    assert (refused.status_code, refused.headers["content-type"]) == (401, MEDIA_TYPE)
    assert refused.headers["lfs-authenticate"].startswith("Basic")
    answer = await api.post(f"{root}/objects/batch", json=body, auth=ann)
    actions = answer.json()["objects"][0]["actions"]
    sent = await api.put(actions["upload"]["href"], content=LARGE, auth=ann)
    assert sent.status_code == 200, sent.text
    verified = await api.post(actions["verify"]["href"], json=body["objects"][0], auth=ann)
    assert verified.status_code == 200, verified.text
    body["operation"] = "download"
    answer = await api.post(f"{root}/objects/batch", json=body, auth=ann)
    href = answer.json()["objects"][0]["actions"]["download"]["href"]
    assert (await api.get(href, auth=ann)).content == LARGE
    part = await api.get(href, auth=ann, headers={"Range": "bytes=1000-"})
    assert (part.status_code, part.content) == (206, LARGE[1000:])
    assert (await api.get(href)).status_code == 401
    locked = await api.post(f"{root}/locks", json={"path": "a.bin"}, auth=ann)
    assert (locked.status_code, locked.headers["content-type"]) == (201, MEDIA_TYPE)


@needs_client
async def test_git_lfs_pushes_clones_locks_and_migrates(deployment, api, ann, tmp_path):
    url, work = git_url(deployment, ann), tmp_path / "work"
    await git("init", "-q", "-b", "main", work)
    await git("lfs", "install", "--local", cwd=work)
    await git("lfs", "track", "--lockable", "*.bin", cwd=work)
    for number in range(3):
        (work / f"{number}.bin").write_bytes(LARGE + b"%d" % number)
    await git("add", ".", cwd=work)
    await git("commit", "-q", "-m", "large files", cwd=work)
    await git("push", "-q", url, "main", cwd=work)

    back = await clone(url, tmp_path / "back")
    assert [(back / f"{n}.bin").read_bytes() for n in range(3)] == [LARGE + b"%d" % n for n in range(3)]
    await git("lfs", "fsck", cwd=back)

    await git("lfs", "lock", "0.bin", cwd=back)
    assert "0.bin" in await git("lfs", "locks", cwd=back)
    await git("lfs", "unlock", "0.bin", cwd=back)
    assert "0.bin" not in await git("lfs", "locks", cwd=back)

    (back / "old.dat").write_bytes(LARGE[::-1])
    await git("add", "old.dat", cwd=back)
    await git("commit", "-q", "-m", "a large file in git", cwd=back)
    await git("push", "-q", "origin", "main", cwd=back)
    await git("lfs", "migrate", "import", "--include=*.dat", "--yes", "--everything", cwd=back)
    await git("push", "-q", "--force", "origin", "main", cwd=back)
    await git("lfs", "push", "--all", url, cwd=back)
    migrated = await clone(url, tmp_path / "migrated")
    assert (migrated / "old.dat").read_bytes() == LARGE[::-1]
    assert "old.dat" in await git("lfs", "ls-files", cwd=migrated)


async def clone(url, folder):
    """A clone whose large files are fetched by git-lfs."""
    options = [part for key, value in FILTER.items() for part in ("-c", f"{key}={value}")]
    await git(*options, "clone", "-q", url, folder)
    await git("lfs", "install", "--local", cwd=folder)
    return folder
