"""A process ends if libgit2 does not return. The repository is not read until git finds it sound."""

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import sys
import time

import pygit2
import pytest

from ingot_git.process.errors import RepositoryDamaged, RepositorySuspect
from ingot_git.storage import read_watch
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import commit, set_branches

from ..shards.test_moves import make_due
from ..world import commit as commit_in
from ..world import git
from .test_packs import damage_one, kinds, work

READER = """
import asyncio, signal, sys, time
from pathlib import Path
from ingot_git.storage.storage import Storage

async def main():
    storage = Storage(Path(sys.argv[1]), threads=int(sys.argv[3]))
    watching = asyncio.create_task(storage.watch.run(most_seconds=0.3))
    await storage.call(1, lambda repo: repo.path)  # at this time all of its objects are sound
    bystander = asyncio.create_task(storage.call(2, lambda repo: time.sleep(60)))
    await asyncio.sleep(0)
    if sys.argv[2] == "crash":
        await storage.call(1, lambda repo: signal.raise_signal(signal.SIGSEGV))
    file = storage.path(1) / "objects" / sys.argv[2][:2] / sys.argv[2][2:]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[: len(content) // 2])
    await storage.call(1, lambda repo: repo[sys.argv[2]].data)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("end", "threads"), [(signal.SIGPROF, 8), (signal.SIGSEGV, 8), (signal.SIGSEGV, 2), (signal.SIGSEGV, 40)]
)
def test_a_process_that_loops_or_crashes_in_libgit2_ends_and_its_repository_is_left_alone(
    tmp_path, end, threads
):
    """Also one with fewer or more threads than the next has."""
    storage = Storage(tmp_path)
    repo = pygit2.Repository(str(storage.create(1, "main")))
    storage.create(2, "main")
    content = b"".join(b"%d\n" % number for number in range(2000))
    tip = commit(repo, {"a": content})
    oid = str(repo[tip].tree["a"].id)
    file = storage.path(1) / "objects" / oid[:2] / oid[2:]
    sound, what = file.read_bytes(), oid if end == signal.SIGPROF else "crash"
    command = [sys.executable, "-c", READER, str(tmp_path), what, str(threads)]
    assert subprocess.run(command, check=False, timeout=60).returncode == -end
    other = Storage(tmp_path)
    other.watch.collect()
    assert (other.watch.suspects, list((tmp_path / "reads").iterdir())) == ({1}, [])
    with pytest.raises(RepositorySuspect):
        other.open(1)
    other.open(2)
    other.note_check(1, is_sound=False)
    with pytest.raises(RepositoryDamaged):
        other.open(1)
    file.unlink()
    file.write_bytes(sound)
    other.note_check(1, is_sound=True)
    other.open(1)


COMPARER = """
import asyncio, signal, sys
from functools import partial
from pathlib import Path
from ingot_git.history.heads import with_borrowed_head, with_head
from ingot_git.storage.storage import Storage

async def main():
    storage = Storage(Path(sys.argv[1]))
    watching = asyncio.create_task(storage.watch.run(most_seconds=0.3))
    for repository_id in (1, 2):  # at this time all of their objects are sound
        await storage.call(repository_id, lambda repo: repo.path)
    file = storage.path(2) / "objects" / sys.argv[2][:2] / sys.argv[2][2:]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[: len(content) // 2])
    compare = partial(with_head, keep_ref="refs/pull/1/head") if sys.argv[3] == "kept" else with_borrowed_head
    await compare(storage, 1, lambda repo, tip: repo[tip], source_id=2, branch="topic")

asyncio.run(main())
"""


def broken_fork(root):
    """A fork with a commit whose object will be cut, and the id of that."""
    storage = Storage(root)
    parent = pygit2.Repository(str(storage.create(1, "main")))
    set_branches(parent, main=commit(parent, {"a": b"a"}))
    fork = pygit2.Repository(str(storage.fork(1, 2)))
    message = "".join(f"{number}\n" for number in range(2000))
    tip = commit(fork, {"a": b"b"}, message=message)
    set_branches(fork, topic=tip)
    return storage, tip


def compare_heads(root, tip, what):
    command = [sys.executable, "-c", COMPARER, str(root), tip, what]
    return subprocess.run(command, check=False, timeout=60, stderr=subprocess.PIPE)


def test_a_fork_on_which_libgit2_hangs_leaves_its_parent_in_no_suspicion(tmp_path):
    storage, tip = broken_fork(tmp_path)
    assert compare_heads(tmp_path, tip, "borrowed").returncode == -signal.SIGPROF
    storage.watch.collect()
    assert storage.watch.suspects == {2}
    storage.note_check(2, is_sound=False)
    assert (storage.watch.suspects, storage.watch.damaged) == ({2}, {2})


def test_what_is_kept_of_a_broken_fork_is_read_by_git_first(tmp_path):
    storage, tip = broken_fork(tmp_path)
    process = compare_heads(tmp_path, tip, "kept")
    assert (process.returncode, b"is corrupt" in process.stderr) == (1, True)
    storage.watch.collect()
    assert storage.watch.suspects == set()


def leave(storage, slots, traces):
    """The file of a process that ended: repository, thread and time of each read."""
    content = b"".join(read_watch._SLOT.pack(*slot) for slot in slots).ljust(storage.watch._size, b"\0")
    (storage.root / "reads" / "left").write_bytes(content + traces)


def test_a_process_that_ends_for_another_reason_leaves_nobody_in_suspicion(tmp_path):
    storage = Storage(tmp_path)
    leave(storage, [(1, 7, time.time() - 60)], b"")
    storage.watch.collect()
    assert (storage.watch.suspects, list((tmp_path / "reads").iterdir())) == (set(), [])


def test_only_long_reads_are_in_suspicion_when_a_thread_that_reads_nothing_ran_last(tmp_path):
    storage = Storage(tmp_path)
    moment = time.time()
    leave(
        storage, [(1, 7, moment - 60), (2, 8, moment - 1)], b"Current thread 0x09 (most recent call first):\n"
    )
    storage.watch.collect()
    assert storage.watch.suspects == {1}


def test_of_two_repositories_of_one_read_the_first_is_a_suspect_when_git_finds_the_last_sound(tmp_path):
    storage, moment = Storage(tmp_path), time.time()
    slots = [(1, 7, moment - 60), (2, 7, moment - 59), (3, 7, moment - 58), (4, 8, moment - 60)]
    leave(storage, slots, b"Current thread 0x07 (most recent call first):\n")
    storage.watch.collect()
    for repository_id in (3, 2, 1):
        other = Storage(tmp_path)
        other.watch.collect()
        assert other.watch.suspects == {repository_id}
        other.note_check(repository_id, is_sound=True)
    storage.watch.collect()
    assert storage.watch.suspects == set()


def test_of_a_suspect_that_was_deleted_nothing_follows_for_another(tmp_path):
    storage = Storage(tmp_path)
    storage.watch.suspect(2, others=[1])
    storage.delete(2)
    assert storage.watch.suspects == set()


def test_other_files_among_suspects_do_no_harm(tmp_path):
    storage = Storage(tmp_path)
    (tmp_path / "suspects" / ".nfs0001").touch()
    (tmp_path / "suspects" / "7").touch()
    storage.watch.collect()
    assert storage.watch.suspects == {7}


async def test_a_read_that_takes_too_long_is_checked_once_and_ends_nothing(tmp_path, monkeypatch):
    storage = Storage(tmp_path)
    for repository_id in (1, 2):
        storage.create(repository_id, "main")
    watching = asyncio.create_task(storage.watch.run())
    await asyncio.sleep(0)

    def read(_repo):
        monkeypatch.setattr(read_watch, "LONGEST_SECONDS", 0.0)
        storage.watch.collect()
        suspects = storage.watch.suspects
        storage.watch.trust(1)
        storage.watch.collect()
        return suspects, storage.watch.suspects

    assert await storage.call(1, read) == ({1}, set())
    assert not watching.done()
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching


async def test_on_a_full_volume_reads_go_on_without_a_watch(tmp_path, monkeypatch):
    storage = Storage(tmp_path)
    storage.create(1, "main")

    def refuse(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        await storage.watch.run()
    assert list((tmp_path / "reads").iterdir()) == []
    assert await storage.call(1, lambda repo: repo.is_bare)


async def test_the_file_of_a_watch_has_its_room_on_the_volume(tmp_path):
    storage = Storage(tmp_path)
    with storage.watch._file() as file:
        state = os.fstat(file.fileno())
    assert state.st_size == storage.watch._size
    assert state.st_blocks * 512 >= state.st_size


async def test_a_suspect_is_checked_at_once_and_read_again_when_it_is_sound(world, ann, base, upkeep):
    await upkeep.plan()
    await work(world, upkeep)
    world.components.storage.watch.suspect(base)
    answer = await ann.get("/repos/ann/app/raw/a.txt")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "15")
    await upkeep.plan()
    assert await kinds(world) == ["check"]
    await work(world, upkeep)
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"


async def test_libgit2_does_not_read_what_git_found_damaged(world, ann, base, upkeep):
    """Objects that were cut off after they had been read once."""
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"
    damaged = await damage_one(ann, "damaged", world)
    await upkeep.check_now(damaged)
    assert world.components.storage.watch.suspects == {damaged}
    assert (await ann.get("/repos/ann/damaged/raw/README.md")).status_code == 500
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"


async def test_a_fork_of_a_suspect_waits_until_it_is_checked(world, ann, base, upkeep):
    bob = world.user(2, "bob")
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    world.components.storage.watch.suspect(fork)
    await world.components.workers.step()
    assert await kinds(world) == ["fork"]
    await upkeep.check_now(fork)
    await make_due(world)
    await world.components.workers.step()
    assert (await bob.get("/repos/bob/app/raw/a.txt")).text == "one\n"


async def test_a_push_to_a_suspect_is_announced_with_its_commits_when_it_is_sound(
    world,
    ann,
    base,
    upkeep,
    tmp_path,
    git_url,
):
    await git("clone", "-q", f"{git_url}/ann/app.git", "copy", cwd=tmp_path, person=ann)
    tree = tmp_path / "copy"
    await commit_in(tree)
    world.components.storage.watch.suspect(base)
    await git("push", "-q", f"{git_url}/ann/app.git", "HEAD:main", cwd=tree, person=ann)
    await upkeep.check_now(base)
    (push,) = await world.rows("push")
    await world.components.pushes.settle(push.id)
    assert [len(event["commits"]) for event in await world.events("push")][-1] == 1
