"""Starting git: its command line, environment, limits and end."""

import asyncio
import contextlib
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ingot_git.process.command import (
    SPAWN_THREADS,
    Cancellation,
    GitArgs,
    clean_environment,
    git_async,
    kill_group,
    run_git,
    spawn,
)
from ingot_git.process.errors import GitFailed, GitTimedOut, InvalidName, OutputTooLarge
from ingot_git.process.streaming import MUCH, PAUSE, stream_git
from ingot_git.storage.storage import Storage

HOSTILE = ["-x", "--upload-pack=x", "--output=/tmp/x", "a\nb", "a\0b", "a\rb", "", "--"]


@pytest.fixture
def repo(tmp_path):
    return Storage(tmp_path / "root").create(1, "main")


@pytest.mark.parametrize("value", HOSTILE)
def test_no_hostile_value_becomes_an_operand(value):
    with pytest.raises(InvalidName):
        GitArgs("fetch", (), (value,))


def test_operands_come_after_end_of_options(tmp_path):
    argv = GitArgs("diff", ("--patch",), ("a", "b")).argv(tmp_path)
    assert argv == ["git", f"--git-dir={tmp_path}", "diff", "--patch", "--end-of-options", "a", "b"]
    argv = GitArgs("diff", (), ("a",), ("-x", "b\n")).argv(None)
    assert argv == ["git", "--literal-pathspecs", "diff", "--end-of-options", "a", "--", "-x", "b\n"]
    assert GitArgs("blame", (), ("a",), ("-b",)).argv(None) == [
        "git", "--literal-pathspecs", "blame", "a", "--", "-b",
    ]  # fmt: skip


def test_an_operand_is_no_option():
    with pytest.raises(InvalidName):
        GitArgs("diff", ("refs/heads/main",))


def test_the_environment_starts_empty(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/other")
    monkeypatch.setenv("GIT_SSH_COMMAND", "touch /tmp/owned")
    monkeypatch.setenv("HOME", "/home/somebody")
    environment = clean_environment({"GIT_PROTOCOL": "version=2"}, config=[("a.b", "c")])
    assert not {"GIT_DIR", "GIT_SSH_COMMAND", "HOME"} & environment.keys()
    assert environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert environment["GIT_ALLOW_PROTOCOL"] == ""
    last = int(environment["GIT_CONFIG_COUNT"]) - 1
    assert (environment[f"GIT_CONFIG_KEY_{last}"], environment[f"GIT_CONFIG_VALUE_{last}"]) == ("a.b", "c")


def test_no_transport_is_allowed_unless_named(repo, tmp_path):
    other = Storage(tmp_path / "other").create(1, "main")
    with pytest.raises(GitFailed, match="not allowed"):
        run_git(GitArgs("fetch", (), (str(other), "refs/heads/main")), git_dir=repo)


def test_git_fetches_no_object_that_it_misses(repo, tmp_path):
    """As a repository says that others have the objects which it has not (gitformat-pack(5), promisor)."""
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "others",
        "remote.others.promisor": "true",
        "remote.others.url": str(tmp_path / "others"),
    }
    for name, value in settings.items():
        subprocess.run(["git", "config", name, value], cwd=repo, check=True)
    with pytest.raises(GitFailed) as failure:
        run_git(GitArgs("cat-file", ("-p",), ("ab" * 20,)), git_dir=repo)
    assert "transport" not in failure.value.stderr


def test_failure_carries_code_and_scrubbed_stderr(repo):
    with pytest.raises(GitFailed) as caught:
        run_git(GitArgs("cat-file", (), ("blob", "1" * 40)), git_dir=repo)
    assert caught.value.exit_code == 128
    assert "bad file" in caught.value.stderr


def test_stdin_and_stdout_larger_than_a_pipe_do_not_deadlock(repo):
    stdin = b"HEAD\n" * 20_000
    output = run_git(GitArgs("cat-file", ("--batch-check",)), git_dir=repo, stdin=stdin)
    assert output == b"HEAD missing\n" * 20_000


def test_output_is_bounded(repo):
    with pytest.raises(OutputTooLarge):
        run_git(GitArgs("cat-file", ("--batch-check",)), git_dir=repo, stdin=b"x\n" * 50_000, max_output=1000)


def test_time_is_bounded_and_the_group_is_killed(repo):
    processes = []

    class RecordedCancellation(Cancellation):
        def attach(self, process):
            processes.append(process)
            super().attach(process)

    started = time.monotonic()
    with pytest.raises(GitTimedOut):
        run_git(
            GitArgs("cat-file", ("--batch-check",)),
            git_dir=repo,
            stdin=b"x\n" * 5_000_000,
            time_limit=0.05,
            max_output=1 << 40,
            cancellation=RecordedCancellation(),
        )
    assert time.monotonic() - started < 5
    with pytest.raises(ProcessLookupError):
        os.killpg(processes[0].pid, 0)


def test_a_cancellation_before_the_start_still_kills(repo):
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(GitFailed) as caught:
        run_git(
            GitArgs("cat-file", ("--batch-check",)),
            git_dir=repo,
            stdin=b"x\n" * 1_000_000,
            max_output=1 << 40,
            cancellation=cancellation,
        )
    assert caught.value.exit_code == -9


async def test_cancelling_the_task_ends_git(repo, monkeypatch):
    attached = asyncio.Event()
    loop = asyncio.get_running_loop()
    processes = []
    attach = Cancellation.attach

    def recording(self, process):
        processes.append(process)
        attach(self, process)
        loop.call_soon_threadsafe(attached.set)

    monkeypatch.setattr(Cancellation, "attach", recording)
    task = asyncio.create_task(
        git_async(
            GitArgs("cat-file", ("--batch-check",)),
            git_dir=repo,
            stdin=b"x\n" * 5_000_000,
            max_output=1 << 40,
        )
    )
    await attached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(processes[0].wait, 10) != 0


def test_memory_limit_is_set_on_the_child(repo):
    process = spawn(
        GitArgs("cat-file", ("--batch-check",)),
        git_dir=repo,
        environment=clean_environment(),
        stdin=subprocess.PIPE,
        max_memory=64 * 1024 * 1024,
    )
    try:
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        data = next(line for line in limits.splitlines() if line.startswith("Max data size"))
        assert data.split()[3] == str(64 * 1024 * 1024)
    finally:
        kill_group(process)
        process.communicate()


async def test_a_stream_nobody_reads_stops_git_and_closing_kills_it(repo):
    async def endless():
        while True:
            yield b"x\n" * 10_000

    stream = stream_git(GitArgs("cat-file", ("--batch-check",)), git_dir=repo, body=endless())
    assert (await anext(stream)).startswith(b"x missing\n")
    group = _groups_of_children()
    await stream.aclose()
    assert group
    assert not group & _groups_of_children()


async def test_git_removes_the_locks_of_refs_when_its_stream_is_closed(repo):
    async def transaction():
        tip = await asyncio.to_thread(commit_tree, repo)
        yield b"start\ncreate refs/heads/topic %b\nprepare\n" % tip
        await asyncio.Event().wait()

    stream, said = stream_git(GitArgs("update-ref", ("--stdin",)), git_dir=repo, body=transaction()), b""
    while b"prepare: ok" not in said:
        said += await anext(stream)
    lock = repo / "refs/heads/topic.lock"
    assert lock.exists()
    await stream.aclose()
    assert not lock.exists()


def commit_tree(repo):
    """The id of a commit without files."""
    git = lambda *arguments, stdin=b"": subprocess.run(  # noqa: E731
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=repo,
        input=stdin,
        capture_output=True,
        check=True,
    ).stdout.strip()
    return git("commit-tree", "-m", "x", git("hash-object", "-wt", "tree", "--stdin").decode())


async def test_behind_its_beginning_a_stream_is_read_in_larger_parts(repo):
    async def lines():
        yield b"x\n" * 8_000

    loop, size, times = asyncio.get_running_loop(), 0, []
    async for chunk in stream_git(GitArgs("cat-file", ("--batch-check",)), git_dir=repo, body=lines()):
        size += len(chunk)
        if size > MUCH:
            times.append(loop.time())
    assert size == 8_000 * len(b"x missing\n")
    assert times[-1] - times[0] >= (len(times) - 1) * PAUSE * 0.9


async def test_a_failing_body_is_raised_and_git_is_killed(repo):
    async def failing():
        yield b"x\n"
        raise ConnectionResetError("client went away")

    with pytest.raises(ConnectionResetError):
        async for _ in stream_git(GitArgs("cat-file", ("--batch-check",)), git_dir=repo, body=failing()):
            pass
    assert not _groups_of_children()


async def test_a_stream_is_bounded_in_time(repo):
    never = asyncio.Event()

    async def silent():
        await never.wait()
        yield b""

    with pytest.raises(GitTimedOut):
        async for _ in stream_git(
            GitArgs("cat-file", ("--batch-check",)), git_dir=repo, body=silent(), time_limit=0.05, drain=False
        ):
            pass


async def test_a_cancelled_start_leaves_no_process(repo):
    stream = stream_git(GitArgs("cat-file", ("--batch-check",)), git_dir=repo, body=_nothing())
    task = asyncio.ensure_future(anext(stream))
    await asyncio.to_thread(lambda: None)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
        await task
    await stream.aclose()
    # When every thread of the pool reaches this barrier, none of them still starts a process.
    barrier = threading.Barrier(4)
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(SPAWN_THREADS, barrier.wait) for _ in range(4)))
    await asyncio.sleep(0)
    assert not _groups_of_children()


async def _nothing():
    await asyncio.Event().wait()
    yield b""


def _groups_of_children():
    """Process groups of the running git children of this process."""
    groups = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (folder / "stat").read_text().split(" (", 1)[1].rsplit(") ", 1)
        except OSError:
            continue
        state, parent, group = rest.split()[:3]
        if name.startswith("git") and int(parent) == os.getpid() and state != "Z":
            groups.add(int(group))
    return groups
