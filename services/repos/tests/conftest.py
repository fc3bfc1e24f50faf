"""Fixtures: the world of one service, and the same behind a socket for the real git."""

import os
import shutil

import pytest

from ingot_chassis.testing.service import serve

from .world import GitLog, World, commit, git, migrate, work_tree


@pytest.fixture
def settings():
    """Settings of the world that a file of tests needs otherwise than they are."""
    return {}


@pytest.fixture
async def world(make_database, tmp_path, settings):
    world = World(make_database("repos", migrate), tmp_path, **settings)
    yield world
    await world.close()


@pytest.fixture
async def ann(world):
    return world.user(1, "ann", full_name="Ann")


@pytest.fixture
async def bob(world):
    return world.user(2, "bob")


@pytest.fixture
async def git_url(world):
    """The URL under which the real git reaches the service."""
    async with serve(world.app) as url:
        yield url


@pytest.fixture
async def base(ann, git_url, tmp_path):
    """ann/app with master and a branch topic that is one commit ahead; gives its id."""
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "a.txt", "one\n")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    await git("checkout", "-q", "-b", "topic", cwd=work)
    await commit(work, "b.txt", "two\n", message="topic")
    await git("push", "-q", f"{git_url}/ann/app.git", "topic", cwd=work, person=ann)
    return created["id"]


@pytest.fixture
def git_log(tmp_path, monkeypatch):
    """Every command line that git is started with from here on, newest last; git itself still runs."""
    folder, log = tmp_path / "recording", tmp_path / "git.log"
    folder.mkdir()
    real = shutil.which("git")
    script = folder / "git"
    script.write_text(f'#!/bin/sh\nfor a in "$@"; do printf \'%s\\037\' "$a"; done >> "{log}"\n'
                      f'printf \'\\036\' >> "{log}"\nexec "{real}" "$@"\n')  # fmt: skip
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return GitLog(log)
