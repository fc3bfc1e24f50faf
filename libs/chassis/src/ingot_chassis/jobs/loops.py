"""Background loops of a process: supervised, restarted with back-off, stopped together. Also polling."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import structlog

log = structlog.get_logger()

Loop = Callable[[], Awaitable[None]]
"""A coroutine function that runs until it is cancelled."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds before a failed loop restarts.

A dependency such as NATS may be back any time, and its users wait for this.
"""
CANCEL_AGAIN = 1.0
FIRST_POLL, LONGEST_POLL = 0.02, 0.5


async def supervise(name: str, loop: Loop) -> None:
    """Run ``loop`` until it ends. A failed loop is restarted after 0.1 s at first and after 2 s at most."""
    pause = FIRST_PAUSE
    clock = asyncio.get_running_loop()
    while True:
        started = clock.time()
        try:
            return await loop()
        except Exception as error:  # noqa: BLE001 - a loop must outlive whatever its work raises
            if clock.time() - started > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            log.warning("loop failed, starting it again", loop=name, error=repr(error), pause=pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


@asynccontextmanager
async def running(loops: Sequence[tuple[str, Loop]]) -> AsyncIterator[None]:
    """Run ``loops`` in parallel to the block. Afterwards cancel them and wait until they have ended."""
    tasks = [asyncio.create_task(supervise(name, loop), name=name) for name, loop in loops]
    try:
        yield
    finally:
        waiting = set(tasks)
        while waiting:
            # In a loop: a wait that ends at the very moment of a cancellation can swallow it.
            for task in waiting:
                task.cancel()
            _, waiting = await asyncio.wait(waiting, timeout=CANCEL_AGAIN)


async def wait_for(flag: asyncio.Event, seconds: float) -> None:
    """Wait until ``flag`` is set or ``seconds`` have passed. Then clear the flag."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await flag.wait()
    flag.clear()


async def polls(seconds: float) -> AsyncGenerator[None, None]:
    """Yield at once, then after pauses that double, and for the last time when ``seconds`` have passed."""
    clock = asyncio.get_running_loop()
    end, pause = clock.time() + seconds, FIRST_POLL
    yield
    while (left := end - clock.time()) > 0:
        await asyncio.sleep(min(pause, left))
        yield
        pause = min(pause * 2, LONGEST_POLL)
