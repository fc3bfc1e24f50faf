"""Starts git: builds its command line and environment, and runs it to its end.

git never reads external values as options: `GitArgs` puts operands after `--end-of-options` (gitcli(7)) and
rejects operands that begin with `-`. The environment starts empty. So neither the operator's nor a
repository's configuration decides what git executes.
"""

import asyncio
import contextlib
import os
import re
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal

from opentelemetry import trace
from opentelemetry.trace import SpanKind
from prometheus_client import Gauge

from ingot_git.process.configuration import CONFIG
from ingot_git.process.cpu_time import CHECK_SECONDS, CpuBudget, CpuLimit
from ingot_git.process.errors import GitTimedOut, GitTooExpensive, InvalidName, OutputTooLarge
from ingot_git.process.process_errors import MAX_STDERR, git_failure

Verb = Literal[
    "apply",
    "archive",
    "blame",
    "cat-file",
    "clone",
    "commit-graph write",
    "config",
    "diff",
    "diff-tree",
    "fetch",
    "format-patch",
    "fsck",
    "grep",
    "index-pack",
    "ls-remote",
    "merge",
    "merge-tree",
    "pack-objects",
    "pack-refs",
    "prune",
    "push",
    "range-diff",
    "read-tree",
    "receive-pack",
    "repack",
    "rev-list",
    "rev-parse",
    "update-ref",
    "upload-archive",
    "upload-pack",
    "version",
    "write-tree",
]

_tracer = trace.get_tracer("ingot")
RUNNING = Gauge("ingot_git_running", "Git processes that run now", ["verb"])

MIB = 1024 * 1024
_CHUNK = 64 * 1024

# Separate thread pools: in the default pool a fetch would wait for unrelated work before it starts.
# SPAWN_THREADS only start and reap processes; whole runs have their own pool.
SPAWN_THREADS = ThreadPoolExecutor(4, thread_name_prefix="git-spawn")
_RUNS = ThreadPoolExecutor(32, thread_name_prefix="git-run")
_FORBIDDEN = re.compile(r"[\0\r\n]")
_WATCHDOG = str(Path(__file__).with_name("parent_watchdog.py"))


@dataclass(frozen=True, slots=True)
class GitArgs:
    """A git command line.

    Args:
        verb: the subcommand.
        options: constants of this package; a value inside an option is joined with `=`.
        operands: full ref names, object ids, absolute paths.
        paths: limit the command to these literal paths in the trees of the operands.
        pathspecs: limit it to these patterns with magic (gitglossary(7)); values inside are escaped.
        work_tree: the folder of working files, for commands that need one.

    Raises:
        InvalidName: an operand begins with `-`, is empty, or contains NUL or a line break.
            Or a path is empty or contains NUL, or a pathspec has no magic.
    """

    verb: Verb
    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    pathspecs: tuple[str, ...] = ()
    work_tree: Path | None = None

    def __post_init__(self) -> None:
        for option in self.options:
            if not option.startswith("-") or _FORBIDDEN.search(option):
                raise InvalidName(f"not an option: {option!r}")
        for operand in self.operands:
            if not operand or operand.startswith("-") or _FORBIDDEN.search(operand):
                raise InvalidName(f"not an operand: {operand!r}")
        for path in self.paths:
            if not path or "\0" in path:
                raise InvalidName(f"not a path: {path!r}")
        for pathspec in self.pathspecs:
            if not pathspec.startswith(":(") or "\0" in pathspec:
                raise InvalidName(f"not a pathspec with magic: {pathspec!r}")

    def argv(self, git_dir: Path | None) -> list[str]:
        location = [] if git_dir is None else [f"--git-dir={git_dir}"]
        # `update-ref --stdin` takes no operand and allows nothing after its options. upload-archive has no
        # options, and blame, grep and range-diff do not know this one in all versions.
        without = ("upload-archive", "blame", "grep", "range-diff")
        has_options = bool(self.operands) and self.verb not in without
        operands = ["--end-of-options", *self.operands] if has_options else list(self.operands)
        if self.work_tree is not None:
            location += [f"--work-tree={self.work_tree}", "-C", str(self.work_tree)]
        if self.paths:
            location, operands = [*location, "--literal-pathspecs"], [*operands, "--", *self.paths]
        elif self.pathspecs:
            operands += ["--", *self.pathspecs]
        return ["git", *location, *self.verb.split(), *self.options, *operands]


class Process(subprocess.Popen[bytes]):
    """A running git process. If it has a ``parent_pipe``, it is killed when this pipe closes.

    The pipe closes when the current process ends.
    """

    parent_pipe: IO[bytes] | None = None


class Cancellation:
    """Cancels `run_git` from another thread: kills the process group now, or as soon as it starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._cancelled = False

    def attach(self, process: Process) -> None:
        with self._lock:
            self._process = process
            if self._cancelled:
                kill_group(process)

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._process is not None:
                kill_group(self._process)


def clean_environment(
    extra: Mapping[str, str] | None = None,
    *,
    protocols: Sequence[str] = (),
    config: Sequence[tuple[str, str]] = (),
) -> dict[str, str]:
    """Return the complete environment of a git process.

    Args:
        extra: variables to add, such as GIT_PROTOCOL.
        protocols: transports that git may use (`file`, `https`…); none by default.
        config: further `(key, value)` settings, which child processes inherit.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": ":".join(protocols),
    }
    count = {"GIT_CONFIG_COUNT": str(len(CONFIG) + len(config))}
    return {**environment, **count, **_CONFIG, **_numbered(config, len(CONFIG)), **(extra or {})}


def _numbered(settings: Sequence[tuple[str, str]], first: int = 0) -> dict[str, str]:
    """Return the variables of git settings, numbered from ``first`` (git-config(1), ENVIRONMENT)."""
    variables = {}
    for index, (key, value) in enumerate(settings, first):
        variables[f"GIT_CONFIG_KEY_{index}"] = key
        variables[f"GIT_CONFIG_VALUE_{index}"] = value
    return variables


_CONFIG = _numbered(CONFIG)
"""The settings of every process. Those of one process are not cached: they may hold the token of a proxy."""


def spawn(
    args: GitArgs,
    *,
    git_dir: Path | None,
    environment: Mapping[str, str],
    stdin: int,
    max_memory: int | None = None,
    ends_with_parent: bool = False,
) -> Process:
    """Start git in its own process group, with pipes for stdout and stderr. Blocks for a few milliseconds.

    Args:
        args: the command line.
        git_dir: the bare repository.
        environment: from `clean_environment`.
        stdin: `subprocess.PIPE` or `subprocess.DEVNULL`.
        max_memory: bytes of private memory for each process of the group. The limit is RLIMIT_DATA: unlike
            RLIMIT_AS it does not count the mapped packs.
        ends_with_parent: git and its children are killed when this process dies. Costs about 15 ms. Use it
            for background work: git that serves a connection ends with the connection.

    Raises:
        OSError: git could not be started; FileNotFoundError if it is not installed.
    """
    argv, parent_pipe, child_end = args.argv(git_dir), None, -1
    if ends_with_parent:
        child_end, parent_end = os.pipe()
        parent_pipe = os.fdopen(parent_end, "wb")
        argv = [sys.executable, "-I", "-S", _WATCHDOG, str(child_end), *argv]
    try:
        process = Process(
            argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd="/",
            bufsize=0,
            # A new session: no terminal for prompts, and one group to kill with all children.
            start_new_session=True,
            # Python ignores SIGXFSZ, and git must inherit this: git then removes its locks when a file may
            # not grow. SIGPIPE is ignored, too; git sets it as needed.
            restore_signals=False,
            pass_fds=(child_end,) if ends_with_parent else (),
        )
    finally:
        if ends_with_parent:
            os.close(child_end)
    process.parent_pipe = parent_pipe
    if max_memory is not None:
        # Set after the start: a preexec_fn would force a slow fork and is unsafe with threads.
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (max_memory, max_memory))
    return process


@contextlib.contextmanager
def process_telemetry(verb: Verb) -> Iterator[None]:
    """Trace the process with a span, and count it in the gauge of running processes."""
    span = _tracer.start_span(f"git {verb}", kind=SpanKind.CLIENT)
    RUNNING.labels(verb).inc()
    try:
        yield
    finally:
        RUNNING.labels(verb).dec()
        span.end()


def kill_group(process: Process, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process of `spawn` and all its children. Do nothing if it was reaped."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def run_git(
    args: GitArgs,
    *,
    git_dir: Path | None = None,
    stdin: bytes | None = None,
    time_limit: float = 60.0,
    max_output: int = 16 * MIB,
    max_memory: int | None = None,
    max_cpu: CpuLimit | CpuBudget | None = None,
    environment: Mapping[str, str] | None = None,
    cancellation: Cancellation | None = None,
    ends_with_parent: bool = False,
) -> bytes:
    """Run git to its end and return its stdout. Blocks: call it in a thread.

    Args:
        args: the command line.
        git_dir: the bare repository.
        stdin: its whole input; None for no input.
        time_limit: seconds, after which the process group is killed.
        max_output: bytes of stdout.
        max_memory: see `spawn`.
        max_cpu: CPU time, after which the process group is killed. A budget is charged.
        environment: from `clean_environment`; None for the default environment.
        cancellation: lets another thread cancel the run.
        ends_with_parent: see `spawn`.

    Raises:
        GitFailed: the exit code was not 0.
        StorageFull: the exit code was not 0 because the disk is full.
        GitTimedOut: git ran longer than `time_limit`. The subclass GitTooExpensive: it exceeded `max_cpu`.
        OutputTooLarge: git wrote more than `max_output`.
    """
    process = spawn(
        args,
        git_dir=git_dir,
        environment=clean_environment() if environment is None else environment,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        max_memory=max_memory,
        ends_with_parent=ends_with_parent,
    )
    try:
        if cancellation is not None:
            cancellation.attach(process)
        deadline = time.monotonic() + time_limit
        output, stderr = _communicate(process, stdin or b"", deadline, max_output, max_cpu)
    finally:
        kill_group(process)
        for pipe in (process.stdin, process.stdout, process.stderr, process.parent_pipe):
            if pipe is not None:
                pipe.close()
        process.wait()
    if process.returncode != 0:
        raise git_failure(process.returncode, stderr, git_dir)
    return output


async def git_async(
    args: GitArgs,
    *,
    git_dir: Path | None = None,
    stdin: bytes | None = None,
    time_limit: float = 60.0,
    max_output: int = 16 * MIB,
    max_memory: int | None = None,
    max_cpu: CpuLimit | None = None,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """Call `run_git` in one of 32 threads. Cancelling the awaiting task kills the process.

    For arguments and errors see `run_git`.
    """
    cancellation = Cancellation()
    try:
        with process_telemetry(args.verb):
            return await asyncio.get_running_loop().run_in_executor(
                _RUNS,
                partial(
                    run_git,
                    args,
                    git_dir=git_dir,
                    stdin=stdin,
                    time_limit=time_limit,
                    max_output=max_output,
                    max_memory=max_memory,
                    max_cpu=max_cpu,
                    environment=environment,
                    cancellation=cancellation,
                ),
            )
    except asyncio.CancelledError:
        cancellation.cancel()
        raise


def _communicate(
    process: Process, stdin: bytes, deadline: float, max_output: int, max_cpu: CpuLimit | CpuBudget | None
) -> tuple[bytes, bytes]:
    """Write stdin and read stdout and stderr in parallel, until the pipes close and the process ends."""
    output = bytearray()
    stderr = bytearray()
    unsent = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for pipe, event in _pipes(process):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, event)
        check_cpu = _cpu_check(process, max_cpu)
        while selector.get_map():
            check_cpu(len(output))
            for key, _ in selector.select(min(_remaining(deadline), CHECK_SECONDS)):
                pipe = key.fileobj  # type: ignore[assignment]  # only pipes were registered
                if pipe is process.stdin:
                    unsent = _write_some(pipe, unsent)
                    finished = not unsent
                else:
                    chunk = os.read(pipe.fileno(), _CHUNK)
                    finished = not chunk
                    (output if pipe is process.stdout else stderr).extend(chunk)
                if finished:
                    selector.unregister(pipe)
                    pipe.close()
            if len(output) > max_output:
                raise OutputTooLarge(f"more than {max_output} bytes of output")
            del stderr[: max(0, len(stderr) - MAX_STDERR)]
    if isinstance(max_cpu, CpuBudget):
        max_cpu.charge(process.pid)
    try:
        process.wait(_remaining(deadline))
    except subprocess.TimeoutExpired:
        raise GitTimedOut("git did not end in time") from None
    return bytes(output), bytes(stderr)


def _cpu_check(process: Process, max_cpu: CpuLimit | CpuBudget | None) -> Callable[[int], None]:
    """Return a function that raises GitTooExpensive above the limit. Its argument is the bytes of output.

    The function reads the CPU clock at intervals only.
    """
    next_look = time.monotonic()

    def check(output: int) -> None:
        nonlocal next_look
        if max_cpu is None or time.monotonic() < next_look:
            return
        if max_cpu.is_exceeded(process.pid, output):
            raise GitTooExpensive
        next_look = time.monotonic() + CHECK_SECONDS

    return check


def _pipes(process: Process) -> list[tuple[IO[bytes], int]]:
    candidates = (
        (process.stdin, selectors.EVENT_WRITE),
        (process.stdout, selectors.EVENT_READ),
        (process.stderr, selectors.EVENT_READ),
    )
    return [(pipe, event) for pipe, event in candidates if pipe is not None]


def _remaining(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise GitTimedOut("git did not end in time")
    return seconds


def _write_some(pipe: IO[bytes], unsent: memoryview) -> memoryview:
    """Write as much as fits into the pipe. Return the rest, which is empty if git closed its end."""
    if not unsent:
        return unsent
    try:
        return unsent[os.write(pipe.fileno(), unsent[:_CHUNK]) :]
    except BrokenPipeError:
        return unsent[:0]
