"""A git process whose stdin and stdout are streams of the event loop, with back-pressure both ways.

The pipes are read and written by `loop.add_reader`/`add_writer` on the bare descriptors, and the process is
started in a thread: that is the same on every loop, nothing is buffered but one chunk each way, and a stream
that nobody reads stops git by its full pipe. Memory does not grow with what flows through.
"""

import asyncio
import contextlib
import fcntl
import os
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO

from ingot_repos.git.command import (
    SPAWNING,
    STDERR_KEPT,
    GitArgs,
    Process,
    clean_environment,
    kill_group,
    observed,
    scrub,
    spawn,
)
from ingot_repos.git.disk import git_failure
from ingot_repos.git.errors import GitTimedOut

_CHUNK = 256 * 1024
# How much of a request body that git no longer wants is still taken in, so that the client gets to read
# git's own words about it instead of a broken connection.
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
    drain: bool = True,
    watch: Callable[[bytes], None] | None = None,
    leashed: bool = False,
) -> AsyncGenerator[bytes, None]:
    """Yield git's stdout in chunks of at most 256 KiB while `body` flows into its stdin.

    The process group is killed when the consumer closes the generator or is cancelled, when `body` raises
    (that error is raised here), and after `time_limit` seconds.

    Args:
        args: the command line.
        git_dir: the bare repository it works on.
        body: its stdin; nothing when None.
        environment: of `clean_environment`; the default one when None.
        time_limit: seconds, for the whole of it.
        max_memory: see `spawn`.
        drain: whether what git leaves unread of a finite body is taken in (bounded) before the stream ends.
        watch: is given what git writes to stderr, as it comes.
        leashed: see `spawn`.

    Raises:
        GitFailed, StorageFull: after the last chunk, when git ended with another code than 0.
        GitTimedOut: the time limit killed it.
    """
    start = partial(
        spawn,
        args,
        git_dir=git_dir,
        environment=clean_environment() if environment is None else environment,
        stdin=subprocess.DEVNULL if body is None else subprocess.PIPE,
        max_memory=max_memory,
        leashed=leashed,
    )
    with observed(args.verb):
        process = await _spawn_in_thread(start)
        loop = asyncio.get_running_loop()
        expired = asyncio.Event()
        deadline = loop.call_later(time_limit, _expire, process, expired)
        complaints = bytearray()
        assert process.stdout is not None  # noqa: S101 -- spawn pipes both
        assert process.stderr is not None  # noqa: S101
        tasks = [loop.create_task(_collect(process.stderr, complaints, watch))]
        if body is not None and process.stdin is not None:
            tasks.append(loop.create_task(_feed(process, process.stdin, body)))
        try:
            _prepare(process.stdout)
            while chunk := await _read(process.stdout):
                yield chunk
            await loop.run_in_executor(SPAWNING, process.wait)
            await asyncio.wait(tasks if drain else tasks[:1], timeout=_DISCARD_SECONDS)
            for task in tasks:
                if task.done() and (error := task.exception()) is not None:
                    raise error
            if expired.is_set():
                raise GitTimedOut("git did not end in time")
            if process.returncode != 0:
                raise git_failure(process.returncode, scrub(bytes(complaints), git_dir))
        finally:
            # First what needs no waiting: a second cancellation may end this block at any await below.
            kill_group(process)
            deadline.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for pipe in (process.stdin, process.stdout, process.stderr, process.leash):
                if pipe is not None:
                    pipe.close()
            await loop.run_in_executor(SPAWNING, process.wait)


async def _spawn_in_thread(start: Callable[[], Process]) -> Process:
    """Start the process in a thread; when cancelled meanwhile, still wait for it and kill it."""
    starting = asyncio.get_running_loop().run_in_executor(SPAWNING, start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_discard)
        raise


def _discard(started: asyncio.Future[Process]) -> None:
    if started.cancelled() or started.exception() is not None:
        return
    process = started.result()
    kill_group(process)
    for pipe in (process.stdin, process.stdout, process.stderr, process.leash):
        if pipe is not None:
            pipe.close()
    process.wait()


def _expire(process: Process, expired: asyncio.Event) -> None:
    expired.set()
    kill_group(process)


async def _feed(process: Process, pipe: IO[bytes], body: AsyncIterator[bytes]) -> None:
    """Copy the body into git's stdin and close it; a body that fails must not look like a complete one."""
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
        kill_group(process)
        raise
    finally:
        pipe.close()


async def _collect(pipe: IO[bytes], kept: bytearray, watch: Callable[[bytes], None] | None) -> None:
    """Read stderr to its end, keeping the last bytes."""
    os.set_blocking(pipe.fileno(), False)
    while chunk := await _read(pipe):
        if watch is not None:
            watch(chunk)
        kept.extend(chunk)
        del kept[: max(0, len(kept) - STDERR_KEPT)]


def _prepare(pipe: IO[bytes]) -> None:
    os.set_blocking(pipe.fileno(), False)
    # Fewer wake-ups for packs; beyond the user's allowance the pipe keeps its size.
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _CHUNK)


async def _read(pipe: IO[bytes]) -> bytes:
    """The next bytes of a non-blocking pipe; empty at its end."""
    loop = asyncio.get_running_loop()
    descriptor = pipe.fileno()
    while True:
        try:
            return os.read(descriptor, _CHUNK)
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
