"""Starting git: one way to build its command line and environment, and one way to run it to its end.

Values from outside never stand where git looks for options: `GitArgs` puts every operand behind
`--end-of-options` (gitcli) and refuses operands that begin with `-` besides. The environment is built from
nothing, so that neither the operator's nor a repository's configuration decides what git executes.
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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal

from opentelemetry import trace
from opentelemetry.trace import SpanKind
from prometheus_client import Gauge

from ingot_repos.git.configuration import CONFIG
from ingot_repos.git.disk import git_failure
from ingot_repos.git.errors import GitTimedOut, InvalidName, OutputTooLarge

Verb = Literal[
    "archive",
    "cat-file",
    "clone",
    "diff",
    "diff-tree",
    "fetch",
    "format-patch",
    "ls-remote",
    "receive-pack",
    "update-ref",
    "upload-pack",
]

_tracer = trace.get_tracer("ingot")
RUNNING = Gauge("ingot_git_running", "Git processes that run now", ["verb"])

MIB = 1024 * 1024
STDERR_KEPT = 4096
_CHUNK = 64 * 1024

# Threads of our own: behind a crowded default pool a fetch would wait for strangers, even for its start.
# SPAWNING only ever starts and reaps processes; whole runs have theirs.
SPAWNING = ThreadPoolExecutor(4, thread_name_prefix="git-spawn")
_RUNS = ThreadPoolExecutor(32, thread_name_prefix="git-run")
_FORBIDDEN = re.compile(r"[\0\r\n]")
_LEASH = str(Path(__file__).with_name("leash.py"))
_CREDENTIALS = re.compile(r"://[^/\s@]*@")
_CONTROL = re.compile(r"[^\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class GitArgs:
    """One git command line.

    Args:
        verb: the subcommand.
        options: written by this room; a value inside one is joined with `=`.
        operands: full ref names, object ids, absolute paths.

    Raises:
        InvalidName: an operand begins with `-`, is empty, or holds NUL or a line break.
    """

    verb: Verb
    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for option in self.options:
            if not option.startswith("-") or _FORBIDDEN.search(option):
                raise InvalidName(f"not an option: {option!r}")
        for operand in self.operands:
            if not operand or operand.startswith("-") or _FORBIDDEN.search(operand):
                raise InvalidName(f"not an operand: {operand!r}")

    def argv(self, git_dir: Path | None) -> list[str]:
        place = [] if git_dir is None else [f"--git-dir={git_dir}"]
        # update-ref --stdin takes no operand and wants nothing behind its options.
        operands = ["--end-of-options", *self.operands] if self.operands else []
        return ["git", *place, self.verb, *self.options, *operands]


class Process(subprocess.Popen[bytes]):
    """A started git. ``leash`` is held open for as long as this process lives: its end is git's end."""

    leash: IO[bytes] | None = None


class Cancellation:
    """Lets another thread end a running `run_git`: `cancel()` kills the process group, now or at start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._cancelled = False

    def attach(self, process: Process) -> None:
        with self._lock:
            self._process = process
            if self._cancelled:
                kill_group(process)

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
    """The whole environment of a git process.

    Args:
        extra: variables to add, such as GIT_PROTOCOL.
        protocols: transports it may use (`file`, `https`…); none by default.
        config: further `(key, value)` settings, effective for child processes too.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": ":".join(protocols),
    }
    settings = (*CONFIG, *config)
    environment["GIT_CONFIG_COUNT"] = str(len(settings))
    for index, (key, value) in enumerate(settings):
        environment[f"GIT_CONFIG_KEY_{index}"] = key
        environment[f"GIT_CONFIG_VALUE_{index}"] = value
    environment.update(extra or {})
    return environment


def scrub(stderr: bytes, git_dir: Path | None = None) -> str:
    """What of git's stderr may be logged: no credentials, no storage path, printable ASCII, bounded."""
    text = stderr[-STDERR_KEPT:].decode("ascii", "replace")
    if git_dir is not None:
        text = text.replace(str(git_dir).rstrip("/"), "<repository>")
    return _CONTROL.sub(" ", _CREDENTIALS.sub("://***@", text)).strip()


def spawn(
    args: GitArgs,
    *,
    git_dir: Path | None,
    environment: Mapping[str, str],
    stdin: int,
    max_memory: int | None = None,
    leashed: bool = False,
) -> Process:
    """Start git in a process group of its own, stdout and stderr piped. Blocks for a few milliseconds.

    Args:
        args: the command line.
        git_dir: the bare repository it works on.
        environment: of `clean_environment`.
        stdin: `subprocess.PIPE` or `subprocess.DEVNULL`.
        max_memory: bytes of private memory for each process of the group (RLIMIT_DATA: unlike RLIMIT_AS it
            does not count the mapped packs).
        leashed: it dies, with its children, when this process does; costs some 15 ms. For what nobody waits for:
            git that serves a connection ends with the connection.
    """
    argv, held, end = args.argv(git_dir), None, -1
    if leashed:
        end, start = os.pipe()
        held = os.fdopen(start, "wb")
        argv = [sys.executable, "-I", "-S", _LEASH, str(end), *argv]
    try:
        process = Process(
            argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd="/",
            bufsize=0,
            # A session of its own: no terminal to prompt on, and one group to kill with all its children.
            start_new_session=True,
            pass_fds=(end,) if leashed else (),
        )
    finally:
        if leashed:
            os.close(end)
    process.leash = held
    if max_memory is not None:
        # From outside: a preexec_fn would force a slow fork and is unsafe beside threads.
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (max_memory, max_memory))
    return process


@contextlib.contextmanager
def observed(verb: Verb) -> Iterator[None]:
    """A span of the process, and its place among those that run now."""
    span = _tracer.start_span(f"git {verb}", kind=SpanKind.CLIENT)
    RUNNING.labels(verb).inc()
    try:
        yield
    finally:
        RUNNING.labels(verb).dec()
        span.end()


def kill_group(process: Process) -> None:
    """Kill a process of `spawn` with all its children. Nothing happens once it has been reaped."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def run_git(
    args: GitArgs,
    *,
    git_dir: Path | None = None,
    stdin: bytes | None = None,
    time_limit: float = 60.0,
    max_output: int = 16 * MIB,
    max_memory: int | None = None,
    environment: Mapping[str, str] | None = None,
    cancellation: Cancellation | None = None,
    leashed: bool = False,
) -> bytes:
    """Run git to its end and return its stdout. Blocks: meant for a thread.

    Args:
        args: the command line.
        git_dir: the bare repository it works on.
        stdin: written to it whole; nothing when None.
        time_limit: seconds; then the process group is killed.
        max_output: bytes of stdout.
        max_memory: see `spawn`.
        environment: of `clean_environment`; the default one when None.
        cancellation: lets another thread end it.
        leashed: see `spawn`.

    Raises:
        GitFailed: it ended with another code than 0.
        StorageFull: the same, for want of room on the disk.
        GitTimedOut: it ran longer than `time_limit`.
        OutputTooLarge: it wrote more than `max_output`.
    """
    process = spawn(
        args,
        git_dir=git_dir,
        environment=clean_environment() if environment is None else environment,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        max_memory=max_memory,
        leashed=leashed,
    )
    try:
        if cancellation is not None:
            cancellation.attach(process)
        output, complaints = _exchange(process, stdin or b"", time.monotonic() + time_limit, max_output)
    finally:
        kill_group(process)
        for pipe in (process.stdin, process.stdout, process.stderr, process.leash):
            if pipe is not None:
                pipe.close()
        process.wait()
    if process.returncode != 0:
        raise git_failure(process.returncode, scrub(complaints, git_dir))
    return output


async def git_async(
    args: GitArgs,
    *,
    git_dir: Path | None = None,
    stdin: bytes | None = None,
    time_limit: float = 60.0,
    max_output: int = 16 * MIB,
    max_memory: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """`run_git` in a thread, of 32; the process dies when the awaiting task is cancelled."""
    cancellation = Cancellation()
    try:
        with observed(args.verb):
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
                    environment=environment,
                    cancellation=cancellation,
                ),
            )
    except asyncio.CancelledError:
        cancellation.cancel()
        raise


def _exchange(process: Process, stdin: bytes, deadline: float, max_output: int) -> tuple[bytes, bytes]:
    """Write stdin and read stdout and stderr at once, until both ends close and the process has ended."""
    output = bytearray()
    complaints = bytearray()
    unsent = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for pipe, event in _pipes(process):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, event)
        while selector.get_map():
            for key, _ in selector.select(_remaining(deadline)):
                pipe = key.fileobj  # type: ignore[assignment]  # only pipes were registered
                if pipe is process.stdin:
                    unsent = _write_some(pipe, unsent)
                    finished = not unsent
                else:
                    chunk = os.read(pipe.fileno(), _CHUNK)
                    finished = not chunk
                    (output if pipe is process.stdout else complaints).extend(chunk)
                if finished:
                    selector.unregister(pipe)
                    pipe.close()
            if len(output) > max_output:
                raise OutputTooLarge(f"more than {max_output} bytes of output")
            del complaints[: max(0, len(complaints) - STDERR_KEPT)]
    try:
        process.wait(_remaining(deadline))
    except subprocess.TimeoutExpired:
        raise GitTimedOut("git did not end in time") from None
    return bytes(output), bytes(complaints)


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
    """Write what fits into the pipe and return the rest; nothing is left once git has closed its end."""
    if not unsent:
        return unsent
    try:
        return unsent[os.write(pipe.fileno(), unsent[:_CHUNK]) :]
    except BrokenPipeError:
        return unsent[:0]
