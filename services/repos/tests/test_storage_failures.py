"""Disks that lose objects: a clear answer, an alert, and other repositories unharmed."""

import asyncio

import pytest
from repos_world import Person, World, commit, git, work_tree
from structlog.testing import capture_logs

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


@pytest.mark.parametrize("kind", READS)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_object_is_a_clear_answer_and_an_alert(world, ann, door, tmp_path, damage, kind):
    """As a process finds it that starts on such a disk."""
    damaged, sound = await ann.create("damaged"), await ann.create("sound")
    work = await work_tree(tmp_path)
    await commit(work, "dir/f.txt", "hello " * 10)
    for name in ("damaged", "sound"):
        await git("push", "-q", f"{door}/ann/{name}.git", "master", cwd=work, person=ann)
    path = world.parts.storage.path(damaged["id"])
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
