"""The run's servers: real, one of each, isolated where they can be, and gone when the run is over."""

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import nats
import pytest
import redis.asyncio
from nats.js.errors import NotFoundError

from ingot_testing.processes import KEEPER, GuardedProcess, ServerError

RUN_ON_TWO_WORKERS = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(6))
def test_address(number, nats_url, redis_url, postgres_server, session_servers):
    worker = os.environ["PYTEST_XDIST_WORKER"]
    note = f"{worker} {nats_url} {redis_url} {postgres_server} {session_servers.folder}"
    Path(f"note-{number}").write_text(note)
"""

TAKE_PORTS = """
import sys
from ingot_testing import processes

processes.PORTS = range(31_000, 31_060)
print(*(processes.free_port() for _ in range(20)), flush=True)
sys.stdin.read()
"""

RUN_THAT_HANGS = """
import time
from pathlib import Path

def test_hang(nats_url, redis_url, session_servers):
    Path("note.part").write_text(f"{nats_url} {redis_url} {session_servers.folder}")
    Path("note.part").rename("note")
    time.sleep(60)
"""

KILLED_AT_ONCE = """
import os, runpy, signal, subprocess, sys

class Popen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        os.kill(os.getpid(), signal.SIGUSR1)

subprocess.Popen = Popen
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def start_pytest(folder: Path, text: str, *arguments: str) -> subprocess.Popen[str]:
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a third of the start-up
    plugins = ["-p", "xdist", "-p", "ingot_testing.plugin", "-p", "no:cacheprovider"]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *plugins, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell starts its background jobs with Ctrl-C ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


async def test_postgres_is_a_recent_real_server(postgres_server):
    connection = await asyncpg.connect(postgres_server)
    try:
        assert connection.get_server_version().major >= 15
        assert await connection.fetchval("SELECT lower('ÄÖÜ')") == "äöü"
    finally:
        await connection.close()


@pytest.mark.parametrize("value", [b"one", b"two"])
async def test_redis_is_empty_for_every_test(redis_url, value):
    async with redis.asyncio.from_url(redis_url) as client:
        assert await client.get("key") is None
        await client.set("key", value)
        assert await client.get("key") == value


async def test_shared_nats_has_jetstream(nats_url):
    stream = f"s{secrets.token_hex(4)}"
    client = await nats.connect(nats_url)
    try:
        await client.jetstream().add_stream(name=stream, subjects=[f"{stream}.>"])
        acknowledged = await client.jetstream().publish(f"{stream}.a", b"1")
        assert acknowledged.seq == 1
    finally:
        await client.close()


@pytest.mark.parametrize("ending", ["stop", "kill"])
async def test_own_nats_comes_back_with_its_data(own_nats, ending):
    url = own_nats.url
    client = await nats.connect(url)
    await client.jetstream().add_stream(name="kept", subjects=["kept.>"])
    await client.jetstream().publish("kept.a", b"1")
    await client.close()

    getattr(own_nats, ending)()
    assert not listens(port_of(url))
    own_nats.start()

    assert own_nats.url == url
    client = await nats.connect(url)
    try:
        assert (await client.jetstream().stream_info("kept")).state.messages == 1
        with pytest.raises(NotFoundError):
            await client.jetstream().stream_info("other")
    finally:
        await client.close()


async def test_own_nats_that_is_killed_while_it_starts_comes_back(own_nats):
    own_nats.kill()
    own_nats.begin()
    own_nats.kill()
    assert not listens(port_of(own_nats.url))
    own_nats.start()
    client = await nats.connect(own_nats.url)
    await client.close()


def test_a_server_that_is_killed_as_soon_as_it_runs_ends_with_its_keeper(tmp_path):
    lock = tmp_path / "lock"
    lock.touch()
    arguments = [KEEPER, lock, tmp_path, int(signal.SIGTERM), "-", "-", "sleep", "60"]
    with lock.open("rb") as session:
        fcntl.flock(session, fcntl.LOCK_EX)  # the run goes on
        run = subprocess.run(
            [sys.executable, "-c", KILLED_AT_ONCE, *map(str, arguments)], timeout=30, check=False
        )
    assert run.returncode == signal.SIGKILL  # that of the server


def test_a_server_that_fails_says_why(session_servers):
    folder = session_servers.folder / f"failing-{secrets.token_hex(4)}"
    folder.mkdir()
    server = GuardedProcess(
        ["sh", "-c", "echo port is taken; exit 3"], session=session_servers.folder, folder=folder
    )
    with pytest.raises(ServerError, match="port is taken"):
        server.wait_until(lambda: False)


def test_workers_share_the_servers_and_nothing_is_left(tmp_path):
    run = start_pytest(tmp_path, RUN_ON_TWO_WORKERS, "-n", "2")
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 0, output

    notes = [note.read_text().split() for note in tmp_path.glob("note-*")]
    assert {note[0] for note in notes} == {"gw0", "gw1"}
    assert len({note[1] for note in notes}) == 1  # one NATS
    assert len({note[2] for note in notes}) == 2  # one Redis, a database number each
    assert len({note[2].rpartition("/")[0] for note in notes}) == 1
    assert len({note[3] for note in notes}) == 1  # one PostgreSQL
    assert not Path(notes[0][4]).exists()


@pytest.mark.parametrize(
    ("workers", "end"),
    [("0", signal.SIGINT), ("0", signal.SIGTERM), ("0", signal.SIGKILL), ("2", signal.SIGKILL)],
)
def test_nothing_is_left_of_an_interrupted_run(tmp_path, workers, end):
    run = start_pytest(tmp_path, RUN_THAT_HANGS, "-n", workers)
    note = tmp_path / "note"
    while not note.exists():
        assert run.poll() is None, run.communicate()
        time.sleep(0.01)
    nats_url, redis_url, folder = note.read_text().split()

    run.send_signal(end)
    run.communicate(timeout=30)

    wait_until(lambda: not listens(port_of(nats_url)))
    wait_until(lambda: not listens(port_of(redis_url)))
    wait_until(lambda: not Path(folder).exists())


def port_of(url: str) -> int:
    return urlsplit(url).port


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_a_port_is_given_to_one_process_only():
    run = [sys.executable, "-c", TAKE_PORTS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(run, **pipes) as one, subprocess.Popen(run, **pipes) as other:
        ports = one.stdout.readline().split() + other.stdout.readline().split()
        one.communicate()
        other.communicate()
    assert (len(ports), len(set(ports))) == (40, 40)
