"""CPU time of git, and the limit above which it is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingot_git.process.command import GitArgs, git_async, run_git
from ingot_git.process.cpu_time import CpuLimit, cpu_seconds
from ingot_git.process.errors import GitTooExpensive
from ingot_git.process.streaming import stream_git
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import COSTLY, commit

BUSY = "while True: pass"
LIMIT = CpuLimit(0.2)


@pytest.fixture
def archiving(tmp_path):
    """A folder of git, and a command that takes seconds there."""
    storage = Storage(tmp_path / "root")
    path = storage.create(1, "main")
    return path, GitArgs("archive", ("--format=tar",), (commit(storage.open(1), COSTLY),))


def test_git_that_needs_more_cpu_time_is_killed(archiving):
    path, args = archiving
    before = os.times()
    with pytest.raises(GitTooExpensive):
        run_git(args, git_dir=path, max_cpu=LIMIT)
    used = os.times()
    assert (
        0.1 < used.children_user + used.children_system - before.children_user - before.children_system < 1.0
    )


async def test_so_is_git_that_a_coroutine_waits_for_or_reads_from(archiving):
    path, args = archiving
    with pytest.raises(GitTooExpensive):
        await git_async(args, git_dir=path, max_cpu=LIMIT)
    with pytest.raises(GitTooExpensive):
        _ = [chunk async for chunk in stream_git(args, git_dir=path, max_cpu=LIMIT)]


def test_children_count():
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}], timeout=60)"
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as parent:
        try:
            while not Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text():
                time.sleep(0.01)
            own = time.clock_gettime(~parent.pid << 3 | 2)
            while cpu_seconds(parent.pid) < own + 0.3:
                time.sleep(0.01)
            assert time.clock_gettime(~parent.pid << 3 | 2) < own + 0.1
        finally:
            os.killpg(parent.pid, 9)


def test_children_that_ended_count():
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    script = '"$0" -c "$1"; echo; read line'
    command = ["sh", "-c", script, sys.executable, busy]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        shell.stdout.readline()
        assert cpu_seconds(shell.pid) > 0.25
        shell.communicate(b"\n")


def test_output_allows_more_cpu_time():
    limit = CpuLimit(0.0, bytes_per_second=1000)
    assert limit.is_exceeded(os.getpid(), output=0)
    assert not limit.is_exceeded(os.getpid(), output=10**9)
    assert CpuLimit(0.0).is_exceeded(os.getpid(), output=10**9)


def test_a_process_that_has_ended_has_used_nothing():
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
        assert cpu_seconds(ended.pid) == 0.0
