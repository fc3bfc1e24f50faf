"""The nats-server that `ingot up` starts."""

import asyncio
import json
import os
import signal
import site
import sys
from pathlib import Path

import nats

from ingot_chassis.jobs.loops import running
from ingot_standalone.nats_server import NatsServer

from .ingot_command import ingot, wait_ended

PATIENCE = 60.0
PYTHON_WITHOUT_NATS = """
import site, sys
for folder in {folders!r}:
    site.addsitedir(folder)
sys.path[:] = {path!r}
from ingot_standalone.__main__ import main
main()
"""


def test_the_server_of_a_killed_parent_is_replaced(start):
    first = start().wait_ready()
    children = first.children()
    first.kill()

    start().wait_ready()

    wait_ended(children)


def noted_process(folder):
    text = (folder / "running.json").read_text()
    return json.loads(text)["pid"] if text else 0


async def test_a_server_that_was_killed_is_started_again_at_its_url_with_its_files(tmp_path):
    server = NatsServer(tmp_path)
    url = await server.start()
    try:
        async with running([("nats-server", server.watch)]), asyncio.timeout(PATIENCE):
            client = await nats.connect(url)
            await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
            await client.close()
            os.kill(killed := noted_process(tmp_path), signal.SIGKILL)
            while noted_process(tmp_path) in (killed, 0):
                await asyncio.sleep(0.01)
            client = await nats.connect(url, max_reconnect_attempts=-1, reconnect_time_wait=0.1)
            assert [stream.config.name for stream in await client.jetstream().streams_info()] == ["KEPT"]
            await client.close()
    finally:
        await server.stop()


def test_a_missing_nats_server_is_one_line(tmp_path, folder):
    programs = tmp_path / "bin"
    programs.mkdir()
    python = programs / "python"
    python.symlink_to(Path(sys.executable).resolve())
    code = PYTHON_WITHOUT_NATS.format(folders=site.getsitepackages(), path=sys.path)

    error = ingot(
        "up", "--port", "0", "--data", str(folder), command=(str(python), "-c", code), PATH=str(programs)
    ).error_line

    assert error.startswith("ingot: nats-server is not installed: ")
