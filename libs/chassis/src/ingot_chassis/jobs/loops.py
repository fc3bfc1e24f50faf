"""Background loops of a process: supervised, restarted with back-off, stopped together."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import structlog

log = structlog.get_logger()

Loop = Callable[[], Awaitable[None]]
"""A coroutine function that runs until it is cancelled."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""What a loop needs, such as NATS, may be back any time; everything that waits for it waits for this pause as well."""
CANCEL_AGAIN = 1.0


async def supervise(name: str, loop: Loop) -> None:
    """Run ``loop`` for ever. One that fails is started again, after 0.1 s at first and 2 s at most."""
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
    """Run ``loops`` beside the block; cancel them and wait for their end when it is left."""
    tasks = [asyncio.create_task(supervise(name, loop), name=name) for name, loop in loops]
    try:
        yield
    finally:
        waiting = set(tasks)
        while waiting:
            # Again and again: a wait that ends at the very moment of a cancellation can swallow it.
            for task in waiting:
                task.cancel()
            _, waiting = await asyncio.wait(waiting, timeout=CANCEL_AGAIN)


async def wait_for(flag: asyncio.Event, seconds: float) -> None:
    """Return when ``flag`` is set or ``seconds`` have passed; the flag is clear afterwards."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await flag.wait()
    flag.clear()
