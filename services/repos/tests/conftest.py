"""Fixtures: the world of one service, and the same behind a socket for the real git."""

import asyncio
import os
import shutil
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from ingot_chassis.migrations import upgrade

sys.path.insert(0, str(Path(__file__).parent))

from repos_world import World

from ingot_repos.app import SCRIPTS


def migrate(url):
    asyncio.run(upgrade(url, SCRIPTS))


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


@asynccontextmanager
async def served(app):
    """The URL of an app behind a socket."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, interface="asgi3", lifespan="off", ws="none", log_config=None)
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    await serving
    listener.close()


@pytest.fixture
async def door(world):
    """The URL under which the real git reaches the service."""
    async with served(world.app) as url:
        yield url


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


class GitLog:
    """Command lines out of the file that the recording git writes."""

    def __init__(self, file):
        self._file = file

    def __iter__(self):
        text = self._file.read_bytes() if self._file.exists() else b""
        return (line.decode(errors="replace").split("\x1f")[:-1] for line in text.split(b"\x1e")[:-1])

    def clear(self):
        self._file.unlink(missing_ok=True)
