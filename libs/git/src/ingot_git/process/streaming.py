"""Runs a git process with stdin and stdout as streams of the event loop, with back-pressure.

`loop.add_reader` and `loop.add_writer` work on the bare descriptors, and a thread starts the process: this
works on every event loop. Each direction buffers only one chunk. If the consumer stops reading, the full pipe
stops git. Memory use does not grow with the size of a stream.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from ingot_git.process.command import (
    SPAWN_THREADS,
    GitArgs,
    Process,
    clean_environment,
    kill_group,
    process_telemetry,
    spawn,
)
from ingot_git.process.cpu_time import CHECK_SECONDS, CpuLimit, cpu_seconds
from ingot_git.process.errors import GitTimedOut, GitTooExpensive
from ingot_git.process.process_errors import MAX_STDERR, git_failure

_CHUNK = 256 * 1024
_OUTPUT = 2 * _CHUNK
# git writes packets of 8 to 64 KiB; the faster they are read, the shorter they are. Reading each packet at
# once costs more than the packet itself. So after the beginning of a response, coalesce packets for 2 ms,
# unless the pipe fills by itself.
MUCH, PAUSE = 32 * 1024, 0.002
# SIGTERM lets git remove its locks and temporary files. A ref lock that stays would block all later pushes.
_END_SECONDS = 2.0
_NICE = 10
"""The nice value of a git process with a CPU time limit."""
# Limits for the part of a request body that is read after git stopped reading. Reading it lets the client
# receive git's message instead of a broken connection.
_DISCARD_BYTES = 64 * 1024 * 1024
_DISCARD_SECONDS = 30.0


async def stream_git(
    args: GitArgs,
    *,
    git_dir: Path | None = None,
    body: AsyncIterator[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    time_limit: float = 3600.0,
    max_memory: int | None = None,
    max_cpu: CpuLimit | None = None,
    charge: Callable[[float], None] | None = None,
    drain: bool = True,
    watch: Callable[[bytes], None] | None = None,
    ends_with_parent: bool = False,
) -> AsyncGenerator[bytes, None]:
    """Yield git's stdout in chunks of at most 512 KiB while `body` flows into its stdin.

    The process group is ended when the consumer closes the generator or is cancelled, and after `time_limit`
    seconds. It is also ended when `body` raises an error, which is raised here.

    Args:
        args: the command line.
        git_dir: the bare repository.
        body: its stdin; None for no input.
        environment: from `clean_environment`; None for the default environment.
        time_limit: seconds, for the whole run.
        max_memory: see `spawn`.
        max_cpu: CPU time, after which the process group is killed.
        charge: called once with the CPU seconds of git, however it ends.
        drain: read the rest of a finite body that git did not read (up to a limit) before the stream ends.
        watch: called with each chunk that git writes to stderr.
        ends_with_parent: see `spawn`.

    Raises:
        GitFailed, StorageFull: after the last chunk, if the exit code was not 0.
        GitTimedOut: the time limit was exceeded. The subclass GitTooExpensive: `max_cpu` was exceeded.
    """
    start = partial(
        spawn,
        args,
        git_dir=git_dir,
        environment=clean_environment() if environment is None else environment,
        stdin=subprocess.DEVNULL if body is None else subprocess.PIPE,
        max_memory=max_memory,
        ends_with_parent=ends_with_parent,
    )
    with process_telemetry(args.verb):
        process = await _spawn_in_thread(start)
        loop = asyncio.get_running_loop()
        excesses: list[GitTimedOut] = []
        deadline = loop.call_later(time_limit, _expire, process, excesses)
        stderr = bytearray()
        assert process.stdout is not None  # noqa: S101 -- spawn pipes both
        assert process.stderr is not None  # noqa: S101
        tasks = [loop.create_task(_collect(process.stderr, stderr, watch))]
        if body is not None and process.stdin is not None:
            tasks.append(loop.create_task(_feed(process, process.stdin, body)))
        size, pause, used = 0, 0.0, 0.0
        meter = loop.create_task(_limit_cpu(process, max_cpu, lambda: size, excesses))
        try:
            _prepare(process.stdout, _OUTPUT)
            while chunk := await _read(process.stdout, pause=pause):
                size += len(chunk)
                pause = PAUSE if size >= MUCH and len(chunk) < _OUTPUT // 2 else 0.0
                yield chunk
            used = cpu_seconds(process.pid)
            await _reap(process)
            await asyncio.wait(tasks if drain else tasks[:1], timeout=_DISCARD_SECONDS)
            _raise_failure(tasks)
            if excesses:
                raise excesses[0]
            if process.returncode != 0:
                raise git_failure(process.returncode, bytes(stderr), git_dir)
        finally:
            # Steps without an await come first: a second cancellation may end this block at any await below.
            if charge is not None:
                charge(used or cpu_seconds(process.pid))
            _end(process)
            deadline.cancel()
            for task in (*tasks, meter):
                task.cancel()
            await asyncio.gather(*tasks, meter, return_exceptions=True)
            for pipe in (process.stdin, process.stdout, process.stderr, process.parent_pipe):
                if pipe is not None:
                    pipe.close()
            await _reap(process)


def _raise_failure(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and (error := task.exception()) is not None:
            raise error


async def _limit_cpu(
    process: Process, limit: CpuLimit | None, output: Callable[[], int], excesses: list[GitTimedOut]
) -> None:
    """Run git with low priority, and kill it when it exceeds its CPU limit. Without a limit do nothing."""
    if limit is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
    while not limit.is_exceeded(process.pid, output()):
        await asyncio.sleep(CHECK_SECONDS)
    excesses.append(GitTooExpensive())
    kill_group(process)


async def _reap(process: Process) -> None:
    """Wait for the end of the process. Uses a thread if it still runs, which is rare after its output."""
    if process.poll() is None:
        await asyncio.get_running_loop().run_in_executor(SPAWN_THREADS, process.wait)


async def _spawn_in_thread(start: Callable[[], Process]) -> Process:
    """Start the process in a thread. If cancelled, kill the process as soon as it has started."""
    future = asyncio.get_running_loop().run_in_executor(SPAWN_THREADS, start)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        future.add_done_callback(_discard)
        raise


def _discard(future: asyncio.Future[Process]) -> None:
    if future.cancelled() or future.exception() is not None:
        return
    process = future.result()
    kill_group(process)
    for pipe in (process.stdin, process.stdout, process.stderr, process.parent_pipe):
        if pipe is not None:
            pipe.close()
    process.wait()


def _expire(process: Process, excesses: list[GitTimedOut]) -> None:
    excesses.append(GitTimedOut("git did not end in time"))
    _end(process)


def _end(process: Process) -> None:
    """Send SIGTERM to git, and SIGKILL two seconds later if it still runs."""
    if process.returncode is None:
        kill_group(process, signal.SIGTERM)
        asyncio.get_running_loop().call_later(_END_SECONDS, kill_group, process)


async def _feed(process: Process, pipe: IO[bytes], body: AsyncIterator[bytes]) -> None:
    """Copy the body into git's stdin and close it. End git if the body fails: it must not look complete."""
    discarded = 0
    try:
        _prepare(pipe)
        async for chunk in body:
            if not pipe.closed:
                try:
                    await _write(pipe, chunk)
                    continue
                except BrokenPipeError:
                    pipe.close()
            discarded += len(chunk)
            if discarded > _DISCARD_BYTES:
                return
    except BaseException:
        _end(process)
        raise
    finally:
        pipe.close()


async def _collect(pipe: IO[bytes], stderr: bytearray, watch: Callable[[bytes], None] | None) -> None:
    """Read stderr to its end. Keep the last bytes in ``stderr``."""
    os.set_blocking(pipe.fileno(), False)
    while chunk := await _read(pipe):
        if watch is not None:
            watch(chunk)
        stderr.extend(chunk)
        del stderr[: max(0, len(stderr) - MAX_STDERR)]


def _prepare(pipe: IO[bytes], size: int = _CHUNK) -> None:
    os.set_blocking(pipe.fileno(), False)
    # A larger pipe needs fewer wake-ups for packs. If the user's limit is reached, its size is unchanged.
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, size)


async def _read(pipe: IO[bytes], *, pause: float = 0.0) -> bytes:
    """Return the next bytes of a non-blocking pipe after `pause` seconds; empty at its end."""
    loop = asyncio.get_running_loop()
    descriptor = pipe.fileno()
    while True:
        if pause:
            await asyncio.sleep(pause)
        try:
            return os.read(descriptor, _OUTPUT)
        except BlockingIOError:
            ready = asyncio.Event()
            loop.add_reader(descriptor, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(descriptor)


async def _write(pipe: IO[bytes], chunk: bytes) -> None:
    """Write a whole chunk into a non-blocking pipe."""
    loop = asyncio.get_running_loop()
    descriptor = pipe.fileno()
    unsent = memoryview(chunk)
    while unsent:
        try:
            unsent = unsent[os.write(descriptor, unsent) :]
        except BlockingIOError:
            ready = asyncio.Event()
            loop.add_writer(descriptor, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_writer(descriptor)


async def once(data: bytes) -> AsyncGenerator[bytes, None]:
    """Yield ``data`` as a stream of one chunk."""
    yield data


async def in_threads(chunks: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield chunks of a blocking iterator. Each chunk is read in a thread. An empty chunk ends the stream."""
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk
