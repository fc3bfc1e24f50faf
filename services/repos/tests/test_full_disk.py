"""A full disk: 507 and no partial writes. When there is space again, everything works as before.

The service is a process of its own. RLIMIT_FSIZE keeps its files and those of its git processes from
growing. Any user may set it on Linux. Its database is on another server.
"""

import asyncio
import base64
import io
import os
import resource
import subprocess
import sys
import zipfile

import httpx
import pytest

from ingot_chassis.security.principal import Principal
from ingot_contracts.testing.identity import FakeIdentity
from ingot_testing.processes import free_port
from ingot_testing.service import serve

from .world import CALLERS, REPOS_KEY, Person, commit, git, migrate, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)


class Disk:
    """A service whose files are all on one disk."""

    def __init__(self, database_url, identity_url, folder):
        port = free_port()
        self.url, self.storage = f"http://127.0.0.1:{port}", folder / "storage"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
        settings = {
            "INGOT_REPOS_DATABASE_URL": database_url,
            "INGOT_REPOS_STORAGE_ROOT": str(self.storage),
            "INGOT_REPOS_PRIVATE_KEY": REPOS_KEY.text(),
            "INGOT_REPOS_SEALING_KEY": base64.urlsafe_b64encode(os.urandom(32)).decode(),
            "INGOT_REPOS_IDENTITY_URL": identity_url,
            "INGOT_REPOS_PORT": str(port),
            "INGOT_METRICS_PUBLIC": "true",
            "INGOT_PUBLIC_KEYS": f"issues={CALLERS.public_keys('issues')['issues']}",
            "INGOT_NATS_URL": "nats://127.0.0.1:1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ingot_repos", "serve"],
            env=environment | settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.http = httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=60)

    async def ready(self):
        while True:
            assert self._process.poll() is None
            try:
                if (await self.http.get("/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)

    def room(self, limit):
        """Let files have at most so many bytes; None for any size."""
        most = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (most if limit is None else limit, most))

    async def end(self):
        await self.http.aclose()
        self._process.kill()
        self._process.wait()


@pytest.fixture
async def disk(make_database, tmp_path):
    jwk = CALLERS.identity_key.jwk()
    identity = FakeIdentity(kid=jwk.kid, x=jwk.x)
    identity.add_account(1, "ann", email="ann@example.org")
    async with serve(identity) as identity_url:
        disk = Disk(make_database("repos", migrate), identity_url, tmp_path)
        try:
            await disk.ready()
            disk.identity = identity
            yield disk
        finally:
            await disk.end()


@pytest.fixture
def ann(disk):
    return Person(disk, Principal(id=1, name="ann", via="token"))


@pytest.fixture
async def base(disk, ann, tmp_path):
    """ann/app with master and a branch topic. Return its id and the head of a pull request."""
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "a.txt", "one\n")
    await git("checkout", "-q", "-b", "topic", cwd=work)
    await commit(work, "b.txt", "two\n")
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, "c.txt", "three\n")
    await git("push", "-q", f"{disk.url}/ann/app.git", "--all", cwd=work, person=ann)
    body = {"base_branch": "master", "head_repository_id": created["id"], "head_branch": "topic", "number": 1}
    compared = await ann.internal("POST", f"{created['id']}/compare", body)
    assert compared.json()["mergeable"], compared.text
    return created["id"], compared.json()["head_sha"]


def files(disk):
    """Return the files on the disk other than caches."""
    return sorted(path for path in disk.storage.rglob("*") if "archives" not in path.parts)


async def tips(ann):
    return {one["name"]: one["commit"]["id"] for one in (await ann.get("/repos/ann/app/branches")).json()}


@pytest.mark.parametrize("room", [0, 10])
async def test_creating_on_a_full_disk_leaves_nothing(disk, ann, room):
    await ann.create("before")
    before = files(disk)
    disk.room(room)
    for name, more in (("new", {}), ("newer", {"auto_init": True})):
        answer = await ann.post("/user/repos", {"name": name, **more})
        assert answer.status_code == 507, answer.text
        assert answer.json()["message"].startswith("There is no room")
        assert (await ann.get(f"/repos/ann/{name}")).status_code == 404
    assert [path for path in files(disk) if path not in before and path.is_file()] == []
    disk.room(None)
    assert (await ann.create("new", auto_init=True))["empty"] is False


@pytest.mark.parametrize("style", ["merge", "squash", "rebase"])
async def test_a_merge_on_a_full_disk_moves_nothing_and_can_be_asked_for_again(disk, ann, base, style):
    repository_id, head = base
    before = await tips(ann)
    body = {"number": 1, "base_branch": "master", "head_sha": head, "style": style}
    disk.room(0)
    answer = await ann.internal("POST", f"{repository_id}/merge", body)
    assert answer.status_code == 507, answer.text
    assert await tips(ann) == before
    disk.room(None)
    merged = await ann.internal("POST", f"{repository_id}/merge", body)
    assert (merged.status_code, merged.json()["already"]) == (200, False)
    assert (await tips(ann))["master"] == merged.json()["sha"]


async def test_a_push_to_a_full_disk_is_refused_whole(disk, ann, base, tmp_path):
    work, before = tmp_path / "work", await tips(ann)
    sha = await commit(work, "d.txt", "four\n")
    disk.room(0)
    code, _ = await git("push", "-q", f"{disk.url}/ann/app.git", "master", cwd=work, person=ann, check=False)
    assert code != 0
    assert await tips(ann) == before
    disk.room(None)
    await git("push", "-q", f"{disk.url}/ann/app.git", "master", cwd=work, person=ann)
    assert (await tips(ann))["master"] == sha


async def test_reading_goes_on_while_the_disk_is_full(disk, ann, base):
    disk.room(0)
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"
    packed = await ann.get("/repos/ann/app/archive/master.zip")
    assert "app/a.txt" in zipfile.ZipFile(io.BytesIO(packed.content)).namelist()
    assert [path for path in (disk.storage / "archives").rglob("*") if path.is_file()] == []


async def test_a_fork_on_a_full_disk_leaves_nothing_and_comes_when_there_is_room(disk, ann, base):
    disk.identity.add_account(2, "bob", email="bob@example.org")
    bob, before = Person(disk, Principal(id=2, name="bob", via="token")), files(disk)
    disk.room(0)
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    failed = 'ingot_jobs_total{kind="fork@shard-0",outcome="retried",service="repos"}'
    while failed not in (await disk.http.get("/metrics")).text:
        await asyncio.sleep(0.05)
    assert (await bob.get("/repos/bob/app/branches")).status_code == 503
    assert [path for path in files(disk) if path not in before and path.is_file()] == []
    disk.room(None)
    while (answer := await bob.get("/repos/bob/app/branches")).status_code == 503:
        await asyncio.sleep(0.05)
    assert [one["name"] for one in answer.json()] == ["master", "topic"]
    assert (await tips(ann)).keys() == {"master", "topic"}
