"""A disk that is really full (ENOSPC): writes fail as a whole, with a message, until there is space."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time

import httpx
import pytest

from .deployments import ADMINISTRATOR, CHEAP_PASSWORDS, Standalone, running
from .history import GitFailed, git
from .parts import PATIENCE

BYTES = os.urandom(100_000)
OID = hashlib.sha256(BYTES).hexdigest()
REPOSITORY = "api/v1/repos/root/demo"
HOOK = {"type": "gitea", "config": {"url": "http://127.0.0.1:9/", "content_type": "json"}}
WRITES = [
    ("POST", f"{REPOSITORY}/issues", {"json": {"title": "two", "body": "x" * 60_000}}),
    ("POST", f"{REPOSITORY}/issues/1/assets", {"files": {"attachment": ("a.txt", BYTES)}}),
    ("PUT", f"root/demo.git/info/lfs/objects/{OID}/{len(BYTES)}", {"content": BYTES}),
    ("POST", f"{REPOSITORY}/contents/large.txt", {"json": {"content": "QUFB" * 20_000, "branch": "other"}}),
    ("POST", "api/v1/user/repos", {"json": {"name": "new", "auto_init": True}}),
    ("POST", "api/v1/users/root/tokens", {"json": {"name": "new"}}),
    ("POST", f"{REPOSITORY}/hooks", {"json": HOOK}),
]


UNSHARE = shutil.which("unshare") or ""
MAY_MOUNT = (
    bool(UNSHARE)
    and subprocess.run([UNSHARE, "-m", "true"], capture_output=True, check=False).returncode == 0
)
"""Root may, but not in every container."""


@pytest.fixture
def disk(tmp_path):
    """A folder on a disk of its own, of 64 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)), check=True)
    yield folder
    subprocess.run(("umount", "-l", str(folder)), check=True)


def fill(file):
    with file.open("wb", buffering=0) as rest, contextlib.suppress(OSError):
        while True:
            rest.write(bytes(65536))


def test_a_full_disk_where_only_namespaces_may_mount(tmp_path):
    """Other users may be root in namespaces of their own, if the machine allows it."""
    if MAY_MOUNT:
        pytest.skip("the other test has tried it")
    inside = (
        "unshare",
        "-Urm",
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    )
    folder = f"--basetemp={tmp_path / 'inside'}"
    done = subprocess.run([*inside, folder, __file__], capture_output=True, text=True, check=False)
    if "unshare:" in done.stderr:
        pytest.skip(f"NOT TRIED: a full disk; nobody may mount one here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.skipif(not MAY_MOUNT, reason="a test in a namespace does so")
async def test_a_full_disk_takes_nothing_by_halves(disk, tmp_path):
    name, password = ADMINISTRATOR
    deployment = Standalone(disk, CHEAP_PASSWORDS)
    with running(deployment):
        async with httpx.AsyncClient(base_url=deployment.url, auth=ADMINISTRATOR, timeout=60) as client:
            new = {"name": "demo", "auto_init": True, "default_branch": "main"}
            assert (await client.post("api/v1/user/repos", json=new)).status_code == 201
            assert (await client.post(f"{REPOSITORY}/branches", json={"new_branch_name": "other"})).is_success
            assert (await client.post(f"{REPOSITORY}/issues", json={"title": "one"})).status_code == 201
            url = httpx.URL(f"{deployment.url}root/demo.git", username=name, password=password)
            work = tmp_path / "work"
            await git("clone", "-q", str(url), str(work), cwd=tmp_path)
            (work / "noise").write_bytes(BYTES)
            await git("add", ".", cwd=work)
            await git("commit", "-q", "-m", "x", cwd=work)

            await asyncio.to_thread(fill, disk / "rest")
            for method, path, options in WRITES:
                answer = await client.request(method, path, **options)
                assert answer.status_code == 507, (path, answer.text)
                assert answer.json()["message"].startswith("There is no room"), path
            with pytest.raises(GitFailed):
                await git("push", "-q", "origin", "main", cwd=work)
            assert len((await client.get(f"{REPOSITORY}/commits")).json()) == 1
            assert [one["title"] for one in (await client.get(f"{REPOSITORY}/issues")).json()] == ["one"]

            (disk / "rest").unlink()
            for method, path, options in WRITES:
                answer = await client.request(method, path, **options)
                assert answer.is_success, (path, answer.text)
            await git("push", "-q", "origin", "main", cwd=work)
            end = time.monotonic() + PATIENCE
            while (await client.get(REPOSITORY)).json()["open_issues_count"] != 2:  # by events
                assert time.monotonic() < end
                await asyncio.sleep(0.05)
            for repository in disk.glob("data/repositories/repositories/*/*/*.git"):
                await git("fsck", "--full", "--strict", cwd=repository)
