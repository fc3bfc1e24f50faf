"""Messages of git when a push or clone is cut off: at the end of a server, or by a limit of memory."""

import asyncio
import contextlib
import os
import resource

import pytest
from structlog.testing import capture_logs

from ingot_repos.pushes.rules.sessions import announce_push
from ingot_testing.wires import wire

from ..lone_process import lone_repos
from ..world import commit, git, migrate, work_tree

BEFORE_THE_STOP = 200_000
"""Bytes to pass in one direction. Then the server waits for the rest of a push, or to send the rest of a
clone."""
SIZE = 12_000_000
"""More than the sockets on the way of a clone hold."""
MEMORY = 12 * 1024 * 1024

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


@contextlib.asynccontextmanager
async def server_that_ends(make_database, folder):
    """A server whose drain takes three seconds: the process, and what its caller sends."""
    settings = {"database": make_database("repos", migrate), "folder": str(folder)}
    async with lone_repos(settings, stderr=asyncio.subprocess.PIPE) as (process, caller):
        yield process, caller


@contextlib.asynccontextmanager
async def wire_beside_the_end(process, caller, direction):
    """Yield the URL of a proxy to the server. It stops the server after some bytes up or down, and then
    passes on."""
    passed, has_ended = 0, False

    async def take(part):
        nonlocal passed, has_ended
        passed += len(part)
        if passed > BEFORE_THE_STOP and not has_ended:
            has_ended = True
            process.terminate()
            await process.wait()
        return part

    async with wire("127.0.0.1", caller["port"], receive_buffer=65_536, **{direction: take}) as port:
        yield f"http://127.0.0.1:{port}/ann/app.git"
    assert has_ended
    await process.wait()  # a signal to a process that just ended would lose its exit status


def options(caller):
    headers = [f"http.extraHeader={name}: {value}" for name, value in caller["headers"].items()]
    return [option for header in headers for option in ("-c", header)]


async def test_a_push_that_is_cut_off_is_refused_as_not_available(make_database, tmp_path):
    async with server_that_ends(make_database, tmp_path / "data") as (process, caller):
        work = await work_tree(tmp_path, branch="big")
        (work / "noise").write_bytes(os.urandom(SIZE // 4))
        await commit(work)

        async with wire_beside_the_end(process, caller, "up") as url:
            code, output = await git(*options(caller), "push", url, "big", cwd=work, check=False)

        assert code != 0
        assert "HTTP 503" in output
        assert await process.stderr.read() == b""


async def test_a_clone_that_is_cut_off_fails_and_leaves_nothing(make_database, tmp_path):
    async with server_that_ends(make_database, tmp_path / "data") as (process, caller):
        work = await work_tree(tmp_path, branch="big")
        (work / "noise").write_bytes(os.urandom(SIZE))
        await commit(work)
        await git(*options(caller), "push", f"http://127.0.0.1:{caller['port']}/ann/app.git", "big", cwd=work)

        async with wire_beside_the_end(process, caller, "down") as url:
            code, output = await git(*options(caller), "clone", url, "copy", cwd=tmp_path, check=False)

        assert code != 0
        assert "early EOF" in output
        assert not (tmp_path / "copy").exists()
        assert await process.stderr.read() == b""


@pytest.mark.parametrize("settings", [{"max_git_memory_bytes": MEMORY}])
async def test_a_push_that_takes_too_much_memory_fails_alone(world, ann, git_url, tmp_path):
    await ann.create("app")
    work, url = await work_tree(tmp_path), f"{git_url}/ann/app.git"
    await commit(work, "small.txt")
    await git("push", "-q", url, "master", cwd=work, person=ann)
    await commit(work, "zeros.bin", "0" * MEMORY)
    code, said = await git("push", url, "master", cwd=work, person=ann, check=False)
    assert (code, "remote: fatal: Out of memory" in said) == (1, True), said
    assert "master -> master (unpacker error)" in said
    assert await world.rows("push") == []
    await git("clone", "-q", url, "copy", cwd=tmp_path, person=ann)


async def test_a_push_that_a_full_disk_keeps_from_being_announced_is_one_line_in_the_log(world, ann):
    repository = await ann.create("app")
    pushes = world.components.pushes
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    async with pushes.journaled(repository["id"], 1, ["refs/heads/master"]) as push_id:
        with capture_logs() as lines:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
            try:
                await announce_push(pushes, push_id, small=True)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        await pushes.settle(push_id)
    shown = [(line["event"], line["log_level"]) for line in lines]
    assert shown == [("push not announced yet", "warning")]
