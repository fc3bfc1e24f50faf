"""Forks, imports, repeats and syncs under SIGKILL before every sixth step; git when its worker dies.

``make soak`` kills before every step (INGOT_TEST_KILLS).
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from .remote_world import Remote, bare_source
from .world import World, commit, git, migrate

MOST_STEPS = 400
PARTS = 2
EVERY = 1 if os.environ.get("INGOT_TEST_KILLS") == "all" else 6


@pytest.fixture
def live():
    """``live(database=…, …)`` is one life of ``mortal_repos``: killed or lived."""
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("mortal_repos.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def one_life(**life):
        program.stdin.write(json.dumps(life) + "\n")
        program.stdin.flush()
        return program.stdout.readline().strip()

    yield one_life
    program.stdin.close()
    program.wait()


async def filled_source(folder, name):
    """A bare repository with three branches; its path."""
    folder.mkdir()
    work = await bare_source(folder, folder)
    await commit(work, text="one")
    await git("branch", "old", cwd=work)
    await commit(work, text="two")
    await git("push", "-q", "origin", "trunk", "old", cwd=work)
    return folder / name


def heads(path):
    life = subprocess.run(
        ["git", "-C", str(path), "for-each-ref", "--format=%(refname)"],
        capture_output=True,
        text=True,
        check=True,
    )
    subprocess.run(["git", "-C", str(path), "fsck", "--full", "--strict"], capture_output=True, check=True)
    return life.stdout.split()


EXPECTED = {
    "fork": (["refs/heads/master"], {"repos.repository.forked.v1": 1, "repos.repository.created.v1": 2}),
    "migrate": (
        ["refs/heads/old", "refs/heads/trunk"],
        {"repos.repository.created.v1": 1, "repos.import.finished.v1": 1},
    ),
    "repeat_import": (
        ["refs/heads/new", "refs/heads/old", "refs/heads/trunk"],
        {"repos.repository.created.v1": 1, "repos.import.finished.v1": 2, "repos.push.received.v1": 1},
    ),
    "sync": (
        ["refs/heads/new", "refs/heads/trunk"],
        {"repos.repository.created.v1": 1, "repos.import.finished.v1": 1, "repos.push.received.v1": 2},
    ),
}


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", EXPECTED)
def test_a_killed_worker_loses_nothing_repeats_nothing_and_leaves_nothing(
    live, make_database, tmp_path, kind, part
):
    refs, events = EXPECTED[kind]
    outcome = asyncio.run(filled_source(tmp_path / "made", "source.git"))
    for kill_at in range(1 + part * EVERY, MOST_STEPS, PARTS * EVERY):
        folder = tmp_path / str(kill_at)
        source = shutil.copytree(outcome, folder / "source.git")
        life = {
            "database": make_database("repos", migrate),
            "folder": str(folder),
            "source": str(source),
            "kind": kind,
        }
        first = live(**life, begin=True, kill_at=kill_at)
        visible = list((folder / "storage" / "repositories").rglob("*.git"))
        assert all(heads(path) for path in visible), f"half a repository after a kill before step {kill_at}"
        assert live(**life, begin=False, kill_at=0) == "lived", kill_at
        asyncio.run(check(life, refs, events, f"killed before step {kill_at}"))
        if first == "lived":
            assert kill_at > 10
            return
    pytest.fail(f"the work has more than {MOST_STEPS} steps")


async def check(life, refs, events, when):
    world = World(life["database"], Path(life["folder"]))
    rows = await world.rows("repository")
    assert {row.state for row in rows} == {"ready"}, when
    outcome = max(row.id for row in rows)
    assert heads(world.components.storage.path(outcome)) == refs, when
    counts = {}
    for event in await world.events():
        counts[event["type"]] = counts.get(event["type"], 0) + 1
    for requested in ("fork", "import", "sync"):
        counts.pop(f"repos.{requested}.requested.v1", None)
    assert counts == events, when
    for folder in ("staging", "trash"):
        assert not list((world.components.storage.root / folder).iterdir()), when
    await world.close()


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_git_dies_with_its_worker(make_database, tmp_path):
    """While a pack is on its way: the worker gets SIGKILL, and within moments nothing of its git is left."""
    async with Remote(tmp_path / "remote") as remote:
        work = await bare_source(remote.folder, tmp_path)
        (work / "big").write_bytes(os.urandom(500_000))
        await commit(work)
        await git("push", "-q", "origin", "trunk", cwd=work)
        remote.chunk, remote.pause = 1000, 0.05
        world = World(make_database("repos", migrate), tmp_path / "w", allowed_remotes=["127.0.0.1"])
        bob = world.user(2, "bob")
        outcome = await bob.post("/repos/migrate", {"clone_addr": remote.url(), "repo_name": "copy"})
        settings = msgspec.json.encode(
            {"database": world.settings.database_url, "folder": str(tmp_path / "w"), "remotes": ["127.0.0.1"]}
        ).decode()
        worker = await asyncio.create_subprocess_exec(
            sys.executable, str(Path(__file__).with_name("lone_worker.py")), settings
        )
        async with asyncio.timeout(60):
            # The leash, git, and what git started.
            while len(started := children(worker.pid)) < 3 or "POST" not in {
                method for method, _, _ in remote.requests
            }:
                await asyncio.sleep(0.05)
            worker.send_signal(signal.SIGKILL)
            await worker.wait()
            while started & alive().keys():
                await asyncio.sleep(0.02)
        assert not world.components.storage.exists(outcome.json()["id"])
        await world.close()


def alive():
    """The parent of every process that runs."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(status.parent.name)] = int(fields[1])
    return parents


def children(pid):
    """Every process below ``pid``."""
    parents, descendants, more = alive(), set(), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - descendants
        descendants |= more
    return descendants
