"""A process that does not come back from libgit2 ends, and nobody reads the repository until git finds it sound."""

import signal
import subprocess
import sys

import pygit2
import pytest

from ingot_repos.git.errors import RepositoryDamaged
from ingot_repos.git.storage import Storage

from .git_builders import commit
from .test_packs import damage_one, kinds, upkeep, work  # noqa: F401 - upkeep is a fixture

READER = """
import asyncio, signal, sys
from pathlib import Path
from ingot_repos.git.storage import Storage

async def main():
    storage = Storage(Path(sys.argv[1]))
    watching = asyncio.create_task(storage.watch.run(most_seconds=0.3))
    await storage.call(1, lambda repo: repo.path)  # at this time all of its objects are sound
    if sys.argv[2] == "crash":
        await storage.call(1, lambda repo: signal.raise_signal(signal.SIGSEGV))
    file = storage.path(1) / "objects" / sys.argv[2][:2] / sys.argv[2][2:]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[: len(content) // 2])
    await storage.call(1, lambda repo: repo[sys.argv[2]].data)

asyncio.run(main())
"""


@pytest.mark.parametrize("end", [signal.SIGPROF, signal.SIGSEGV])
def test_a_process_that_loops_or_crashes_in_libgit2_ends_and_its_repository_is_left_alone(tmp_path, end):
    storage = Storage(tmp_path)
    repo = pygit2.Repository(str(storage.create(1, "main")))
    storage.create(2, "main")
    content = b"".join(b"%d\n" % number for number in range(2000))
    tip = commit(repo, {"a": content})
    oid = str(repo[tip].tree["a"].id)
    file = storage.path(1) / "objects" / oid[:2] / oid[2:]
    sound, what = file.read_bytes(), oid if end == signal.SIGPROF else "crash"
    done = subprocess.run([sys.executable, "-c", READER, str(tmp_path), what], check=False, timeout=60)
    assert done.returncode == -end
    other = Storage(tmp_path)
    other.watch.collect()
    assert (other.watch.suspects, list((tmp_path / "reads").iterdir())) == ({1}, [])
    with pytest.raises(RepositoryDamaged):
        other.open(1)
    other.open(2)
    other.note_check(1, is_sound=False)
    with pytest.raises(RepositoryDamaged):
        other.open(1)
    file.unlink()
    file.write_bytes(sound)
    other.note_check(1, is_sound=True)
    other.open(1)


async def test_a_process_that_ends_for_another_reason_leaves_nobody_in_suspicion(tmp_path):
    storage = Storage(tmp_path)
    with storage.watch._file() as file:
        content = file.read()
    (tmp_path / "reads" / "left").write_bytes(content)
    storage.watch.collect()
    assert (storage.watch.suspects, list((tmp_path / "reads").iterdir())) == (set(), [])


async def test_a_suspect_is_checked_at_once_and_read_again_when_it_is_sound(world, ann, base, upkeep):  # noqa: F811
    await upkeep.plan()
    await work(world, upkeep)
    world.components.storage.watch.suspect(base)
    assert (await ann.get("/repos/ann/app/raw/a.txt")).status_code == 500
    await upkeep.plan()
    assert await kinds(world) == ["check"]
    await work(world, upkeep)
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"


async def test_libgit2_does_not_read_what_git_found_damaged(world, ann, base, upkeep):  # noqa: F811
    """Objects that were cut off after they had been read once."""
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"
    damaged = await damage_one(ann, "damaged", world)
    await upkeep.check_now(damaged)
    assert world.components.storage.watch.suspects == {damaged}
    assert (await ann.get("/repos/ann/damaged/raw/README.md")).status_code == 500
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"
