"""What git says when its push or clone is cut off, because the time of a server that ends is over."""

import asyncio
import contextlib
import json
import os
import socket
import sys
from pathlib import Path

import pytest

from .world import commit, git, migrate, work_tree

HERE = Path(__file__).parent
BEFORE_THE_STOP = 200_000
"""Bytes that pass in one direction; the server waits for the rest of a push, or for room for the rest of a clone."""
SIZE = 12_000_000
"""More than the sockets on the way of a clone hold."""

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


@contextlib.asynccontextmanager
async def server_that_ends(make_database, folder):
    """A server whose drain takes one second: the process, and what its caller sends."""
    settings = {"database": make_database("repos", migrate), "folder": str(folder)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(HERE / "lone_repos.py"), json.dumps(settings), cwd=HERE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process, json.loads(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def narrow_wire(port, direction, happens):
    """A port that leads to ``port``. After some bytes up (or down) it awaits ``happens`` before it passes more."""
    has_stopped = False

    async def forward(reader, writer, *, stops):
        nonlocal has_stopped
        count = 0
        with contextlib.suppress(OSError):
            while part := await reader.read(8192):
                writer.write(part)
                await writer.drain()
                count += len(part)
                if stops and count > BEFORE_THE_STOP and not has_stopped:
                    has_stopped = True
                    await happens()
        writer.close()

    async def connected(reader, writer):
        upstream = socket.socket()
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        upstream.connect(("127.0.0.1", port))
        server_reader, server_writer = await asyncio.open_connection(sock=upstream)
        await asyncio.gather(
            forward(reader, server_writer, stops=direction == "up"),
            forward(server_reader, writer, stops=direction == "down"),
        )

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        assert has_stopped


def options(caller):
    headers = [f"http.extraHeader={name}: {value}" for name, value in caller["headers"].items()]
    return [option for header in headers for option in ("-c", header)]


async def test_a_push_that_is_cut_off_is_refused_as_not_available(make_database, tmp_path):
    async with server_that_ends(make_database, tmp_path / "data") as (process, caller):
        work = await work_tree(tmp_path, branch="big")
        (work / "noise").write_bytes(os.urandom(SIZE // 4))
        await commit(work)

        async def end():
            process.terminate()
            await process.wait()

        async with narrow_wire(caller["port"], "up", end) as port:
            url = f"http://127.0.0.1:{port}/ann/app.git"
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

        async def end():
            process.terminate()
            await process.wait()

        async with narrow_wire(caller["port"], "down", end) as port:
            url = f"http://127.0.0.1:{port}/ann/app.git"
            code, output = await git(*options(caller), "clone", url, "copy", cwd=tmp_path, check=False)

        assert code != 0
        assert "early EOF" in output
        assert not (tmp_path / "copy").exists()
        assert await process.stderr.read() == b""
