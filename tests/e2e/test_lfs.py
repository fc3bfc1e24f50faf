"""LFS through the gateway: its protocol by HTTP, and the real git-lfs, built by Go as ``git_lfs/go.mod`` pins it."""

import asyncio
import hashlib
import os
import re
import secrets
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from .deployments import ADMINISTRATOR
from .history import ENVIRONMENT, GitFailed, git
from .test_ssh import git_by_key, needs_ssh
from .test_ssh import person as person_with_key

PASSWORD = "what they know"
LARGE = bytes(range(256)) * 20_000
MEDIA_TYPE = "application/vnd.git-lfs+json"
FILTER = {
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.required": "true",
}
MODULE = Path(__file__).parent / "git_lfs"
PACKAGE = "github.com/git-lfs/git-lfs/v3"
TOOLS = Path(__file__).parents[2] / ".tools"


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


@pytest.fixture(scope="session")
def program():
    """git-lfs, which is built once for each version."""
    version = re.search(rf"{PACKAGE} (\S+)", (MODULE / "go.mod").read_text())[1]
    program = TOOLS / f"git-lfs-{version}" / "git-lfs"
    if not program.exists():
        if shutil.which("go") is None:
            pytest.skip("there is no Go on PATH")
        if go("mod", "download").returncode != 0:
            pytest.skip("the Go modules of git-lfs cannot be fetched")
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f"{os.getpid()}")
        built = go("build", "-buildvcs=false", "-o", partial, PACKAGE)
        assert built.returncode == 0, built.stderr
        partial.rename(program)
    return program


def go(*arguments):
    """Run the Go tool-chain in the module that pins the version of git-lfs."""
    return subprocess.run(["go", *arguments], cwd=MODULE, capture_output=True, text=True, check=False)


@pytest.fixture
def git_lfs(program, monkeypatch):
    """git finds git-lfs."""
    monkeypatch.setitem(ENVIRONMENT, "PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


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


@pytest.mark.usefixtures("git_lfs")
async def test_git_lfs_pushes_clones_locks_and_migrates(deployment, ann, tmp_path):
    url = git_url(deployment, ann)
    work = await work_tree(tmp_path / "work", 3)
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


@pytest.mark.usefixtures("git_lfs")
async def test_git_lfs_pushes_nothing_over_the_lock_of_another(deployment, api, ann, tmp_path):
    bob = await person(api, "bob")
    added = await api.put(
        f"repos/{ann[0]}/files/collaborators/{bob[0]}", json={"permission": "write"}, auth=ann
    )
    assert added.status_code == 204
    work = await work_tree(tmp_path / "work", 1)
    await git("push", "-q", git_url(deployment, ann), "main", cwd=work)
    await git("remote", "add", "origin", git_url(deployment, ann), cwd=work)
    await git("lfs", "lock", "0.bin", cwd=work)

    root = deployment.url.replace("://", f"://{bob[0]}:{bob[1].replace(' ', '%20')}@", 1)
    other = await clone(f"{root}{ann[0]}/files.git", tmp_path / "other")
    await git("config", "lfs.locksverify", "true", cwd=other)
    (other / "0.bin").chmod(0o644)
    (other / "0.bin").write_bytes(b"mine")
    await git("commit", "-q", "-a", "-m", "over a lock", cwd=other)
    with pytest.raises(GitFailed, match="Cannot update locked files"):
        await git("push", "origin", "main", cwd=other)
    with pytest.raises(GitFailed, match=r"0\.bin"):
        await git("lfs", "unlock", "0.bin", cwd=other)
    await git("lfs", "unlock", "--force", "0.bin", cwd=other)
    await git("push", "-q", "origin", "main", cwd=other)


@pytest.mark.usefixtures("git_lfs")
async def test_a_fork_and_a_transfer_have_the_large_files(deployment, api, tmp_path):
    ann, bob = [await person(api, name) for name in ("ann", "bob")]
    assert (await api.post("user/repos", json={"name": "files"}, auth=ann)).status_code == 201
    work = await work_tree(tmp_path / "work", 1)
    await git("push", "-q", git_url(deployment, ann), "main", cwd=work)
    assert (await api.post(f"repos/{ann[0]}/files/forks", json={}, auth=bob)).status_code == 202
    async with asyncio.timeout(30):
        while (await api.get(f"repos/{bob[0]}/files/branches/main", auth=bob)).status_code != 200:
            await asyncio.sleep(0.1)
    carol = await person(api, "carol")
    body = {"new_owner": carol[0]}
    assert (await api.post(f"repos/{ann[0]}/files/transfer", json=body, auth=ADMINISTRATOR)).is_success
    moved = await clone(git_url(deployment, carol), tmp_path / "moved")
    assert (moved / "0.bin").read_bytes() == LARGE + b"0"
    assert (await api.delete(f"repos/{carol[0]}/files", auth=carol)).status_code == 204
    fork = await clone(git_url(deployment, bob), tmp_path / "fork")
    assert (fork / "0.bin").read_bytes() == LARGE + b"0"


@needs_ssh
@pytest.mark.usefixtures("git_lfs")
async def test_git_lfs_gets_a_token_over_ssh(deployment, api, tmp_path):
    deployment.serve_ssh()
    (ann, ann_key), (_, bob_key) = [await person_with_key(api, tmp_path, name) for name in ("ann", "bob")]
    created = (await api.post("user/repos", json={"name": "files"}, auth=ann)).json()
    work = await work_tree(tmp_path / "work", 1)
    await git_by_key(ann_key, "push", "-q", created["ssh_url"], "main", cwd=work)
    back = tmp_path / "back"
    await git_by_key(bob_key, *options(), "clone", "-q", created["ssh_url"], back, cwd=tmp_path)
    assert (back / "0.bin").read_bytes() == LARGE + b"0"
    await git("lfs", "install", "--local", cwd=back)
    (back / "1.bin").write_bytes(b"of a reader")
    await git("add", "1.bin", cwd=back)
    await git("commit", "-q", "-m", "a large file of a reader", cwd=back)
    with pytest.raises(AssertionError, match="needs write access to the repository"):
        await git_by_key(bob_key, "push", "-q", "origin", "main", cwd=back)


async def work_tree(folder, count):
    """A work tree with so many large files in its commit."""
    await git("init", "-q", "-b", "main", folder)
    await git("lfs", "install", "--local", cwd=folder)
    await git("lfs", "track", "--lockable", "*.bin", cwd=folder)
    for number in range(count):
        (folder / f"{number}.bin").write_bytes(LARGE + b"%d" % number)
    await git("add", ".", cwd=folder)
    await git("commit", "-q", "-m", "large files", cwd=folder)
    return folder


async def clone(url, folder):
    """A clone whose large files are fetched by git-lfs."""
    await git(*options(), "clone", "-q", url, folder)
    await git("lfs", "install", "--local", cwd=folder)
    return folder


def options():
    """git clones with the filter of git-lfs."""
    return [part for key, value in FILTER.items() for part in ("-c", f"{key}={value}")]
