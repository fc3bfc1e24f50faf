"""Disks that lose objects: a clear answer, an alert, and other repositories unharmed."""

import asyncio
import shutil

import pygit2
import pytest
from structlog.testing import capture_logs

from ingot_git.changes import file_changes as git_file_changes
from ingot_git.process.errors import ObjectNotFound, RepositoryDamaged
from ingot_testing.service import serve

from ..world import Person, World, commit, git, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)

DAMAGES = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "cut short": lambda data: data[: len(data) // 2],
    "another": lambda data: b"\xff" * len(data),
    "flipped": lambda data: data[:-6] + bytes([data[-6] ^ 0x55]) + data[-5:],
}
READS = {
    "commit": ("branches", "branches/master", "raw/dir/f.txt", "archive/master.zip", "statuses/master"),
    "tree": ("raw/dir/f.txt", "archive/master.zip", "editorconfig/dir/f.txt"),
    "folder": ("raw/dir/f.txt", "archive/master.zip"),
    "blob": ("raw/dir/f.txt", "archive/master.zip"),
}
NAMES = {"commit": "master", "tree": "master:", "folder": "master:dir", "blob": "master:dir/f.txt"}


def loosen(path):
    """Let objects that were pushed be in files of their own, as those that the service writes."""
    repo = pygit2.Repository(str(path))
    objects = [repo.read(oid) for oid in repo]
    shutil.rmtree(path / "objects/pack")
    (path / "objects/pack").mkdir()
    repo = pygit2.Repository(str(path))
    for kind, data in objects:
        repo.write(kind, data)


@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_object_is_a_clear_answer_and_an_alert(world, ann, git_url, tmp_path, damage, kind):
    """As a process finds it that starts on such a disk."""
    damaged, sound = await ann.create("damaged"), await ann.create("sound")
    work = await work_tree(tmp_path)
    await commit(work, "dir/f.txt", "hello " * 10)
    for name in ("damaged", "sound"):
        await git("push", "-q", f"{git_url}/ann/{name}.git", "master", cwd=work, person=ann)
    path = world.components.storage.path(damaged["id"])
    loosen(path)
    oid = (await git("rev-parse", NAMES[kind], cwd=work)).strip()
    file = path / "objects" / oid[:2] / oid[2:]
    left = DAMAGES[damage](file.read_bytes())
    file.unlink()
    if left is not None:
        file.write_bytes(left)
    restarted = World(world.settings.database_url, world.folder)
    restarted.identity.accounts = world.identity.accounts
    person = Person(restarted, ann.principal)
    for read in READS[kind]:
        with capture_logs() as lines:
            answer = await asyncio.wait_for(person.get(f"/repos/ann/damaged/{read}"), 30)
        assert answer.status_code == 500, (read, answer.text)
        assert answer.json()["message"].startswith("The repository cannot be read")
        assert str(world.folder) not in answer.text
        assert [line["event"] for line in lines if line["log_level"] == "error"] == ["request failed"]
        assert (await person.get(f"/repos/ann/sound/{read}")).status_code in (200, 404)
    assert (await person.get("/repos/ann/sound/raw/dir/f.txt")).status_code == 200
    assert (await person.get("/repos/ann/damaged")).status_code == 200
    assert sound["id"]
    await restarted.close()


async def test_a_pack_that_was_cut_short_is_a_clear_answer_there_and_nothing_elsewhere(
    world, ann, git_url, tmp_path
):
    work = await work_tree(tmp_path)
    await commit(work, "dir/f.txt", "hello " * 10)
    paths = {}
    for name in ("damaged", "sound"):
        paths[name] = world.components.storage.path((await ann.create(name))["id"])
        await git("push", "-q", f"{git_url}/ann/{name}.git", "master", cwd=work, person=ann)
        # Else the pack has the name of the one that came, which libgit2 has open.
        await git("-c", "pack.compression=0", "repack", "-adFq", cwd=paths[name])
    (pack,) = paths["damaged"].glob("objects/pack/*.pack")
    content = pack.read_bytes()
    pack.unlink()
    pack.write_bytes(content[: len(content) // 2])
    restarted = World(world.settings.database_url, world.folder)
    restarted.identity.accounts = world.identity.accounts
    person = Person(restarted, ann.principal)
    for read in (*READS["commit"], "commits", "contents/dir"):
        with capture_logs():
            answer = await asyncio.wait_for(person.get(f"/repos/ann/damaged/{read}"), 30)
        assert (answer.status_code, str(world.folder) in answer.text) == (500, False), (read, answer.text)
        assert answer.json()["message"].startswith("The repository cannot be read"), read
        assert (await person.get(f"/repos/ann/sound/{read}")).status_code in (200, 404)
    code, said = await git("clone", f"{git_url}/ann/damaged.git", "a", cwd=tmp_path, person=ann, check=False)
    assert (code, str(world.folder / "storage") in said) == (128, False), said
    await git("clone", "-q", f"{git_url}/ann/sound.git", "b", cwd=tmp_path, person=ann)
    await restarted.close()


async def test_a_push_into_a_damaged_repository_is_announced(world, ann, git_url, tmp_path):
    """Without its commits, which cannot be read; and no entry of the journal stays behind."""
    damaged = await ann.create("damaged")
    work = await work_tree(tmp_path)
    first = await commit(work, "f.txt", "hello " * 10)
    await git("push", "-q", f"{git_url}/ann/damaged.git", "master", cwd=work, person=ann)
    loosen(world.components.storage.path(damaged["id"]))
    oid = (await git("rev-parse", "master:f.txt", cwd=work)).strip()
    file = world.components.storage.path(damaged["id"]) / "objects" / oid[:2] / oid[2:]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[: len(content) // 2])
    second = await commit(work, "g.txt", "more")
    restarted = World(world.settings.database_url, world.folder)
    restarted.identity.accounts = world.identity.accounts
    async with serve(restarted.app) as url:
        output = await git("push", f"{url}/ann/damaged.git", "master", cwd=work, person=ann)
    assert str(world.folder / "storage") not in output
    assert await restarted.rows("push") == []
    event = (await restarted.events("push"))[-1]
    assert (event["before"], event["after"], event.get("commits", [])) == (first, second, [])
    (row,) = await restarted.rows("repository")
    assert row.licenses is None  # the next push finds them
    await restarted.close()


async def test_a_fork_of_a_damaged_repository_fails_in_words(world, ann, bob, git_url, tmp_path):
    damaged = await ann.create("damaged")
    work = await work_tree(tmp_path)
    await commit(work, "f.txt", "hello " * 10)
    await git("push", "-q", f"{git_url}/ann/damaged.git", "master", cwd=work, person=ann)
    path = world.components.storage.path(damaged["id"])
    await git("repack", "-adq", cwd=path)
    (pack,) = path.glob("objects/pack/*.pack")
    pack.chmod(0o600)
    content = pack.read_bytes()
    pack.write_bytes(content[:40])
    world.settings.fork_wait_seconds = 30
    answer = asyncio.create_task(bob.post("/repos/ann/damaged/forks"))
    while not await world.components.workers.step():
        await asyncio.sleep(0)
    refusal = await answer
    assert (refusal.status_code, "cannot be read" in refusal.json()["message"]) == (409, True)
    assert (await bob.get("/repos/bob/damaged")).status_code == 404
    world.settings.fork_wait_seconds = 0
    assert (await bob.post("/repos/ann/damaged/forks")).status_code == 202
    await world.components.workers.step()
    await world.components.workers.step()
    branches = await bob.get("/repos/bob/damaged/branches")
    assert (branches.status_code, branches.json()["message"]) == (404, "its commits could not be fetched")


def missing_at_first(monkeypatch, target, file):
    """Hide the file until the function ``target`` has failed because of it."""
    owner, name = target
    real, hidden = getattr(owner, name), file.with_suffix(".hidden")

    def function(*args, **kwargs):
        try:
            return real(*args, **kwargs)
        except (RepositoryDamaged, ObjectNotFound):
            if hidden.exists():
                hidden.rename(file)
            raise

    monkeypatch.setattr(owner, name, function)
    file.rename(hidden)
    return hidden


@pytest.fixture
async def restarted(world, ann, git_url, tmp_path):
    """Return another process on the same data, without caches, and the index of the pack of `ann/app`."""
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "f.txt", "hello " * 10)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    path = world.components.storage.path(created["id"])
    await git("repack", "-adq", cwd=path)
    other = World(world.settings.database_url, world.folder)
    other.identity.accounts = world.identity.accounts
    yield other, next(path.glob("objects/pack/*.idx"))
    await other.close()


async def test_a_commit_that_is_missing_for_a_moment_refuses_no_change(restarted, ann, monkeypatch):
    """Git replaces one pack by another, and who has listed the first may open it too late."""
    other, file = restarted
    hidden = missing_at_first(monkeypatch, (git_file_changes, "commit_info"), file)
    change = {"content": "bmV3", "branch": "master"}
    answer = await Person(other, ann.principal).post("/repos/ann/app/contents/new.txt", change)
    assert (answer.status_code, hidden.exists()) == (201, False), answer.text


async def test_a_commit_that_stays_away_is_no_missing_branch(restarted, ann):
    other, file = restarted
    file.unlink()
    change = {"content": "bmV3", "branch": "master"}
    answer = await Person(other, ann.principal).post("/repos/ann/app/contents/new.txt", change)
    assert answer.status_code == 500
    assert answer.json()["message"].startswith("The repository cannot be read")


async def test_what_changes_a_repository_whose_files_are_gone_is_not_found(world, ann, bob):
    """Its row goes first, and a request may have read that before."""
    parent = await ann.create("app", auto_init=True)
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    await world.components.workers.step()
    tip = (await bob.get("/repos/bob/app/branches/master")).json()["commit"]["id"]
    world.components.storage.delete(fork)
    for method, path, body in (
        ("POST", "/merge-upstream", {}),
        ("POST", "/contents/new.txt", {"content": "bmV3"}),
        ("POST", f"/commits/{tip}/revert", {}),
        ("PATCH", "", {"default_branch": "other"}),
        ("PATCH", "/branches/master", {"name": "other"}),
        ("PUT", "/branches/master", {"new_commit_id": tip}),
        ("DELETE", "/branches/master", None),
        ("POST", "/tags", {"tag_name": "v1"}),
        ("DELETE", "/tags/v1", None),
        ("GET", f"/git/commits/{tip}", None),
    ):
        answer = await bob.call(method, f"/api/v1/repos/bob/app{path}", body)
        assert answer.status_code == 404, (path, answer.text)
    compare = {"base_branch": "master", "head_repository_id": fork, "head_branch": "master"}
    answer = await bob.internal("POST", f"{parent['id']}/compare", compare)
    assert answer.status_code == 404, answer.text
